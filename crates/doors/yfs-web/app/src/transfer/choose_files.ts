// The dialog of the browser that chooses files, or a whole directory.

import type { NamedFile } from './upload_queue'

/** Asks for files; none if the person chooses none. */
export function chooseFiles(of: 'files' | 'directory'): Promise<NamedFile[]> {
  return new Promise((resolve) => {
    const input = document.createElement('input')
    input.type = 'file'
    input.hidden = true
    input.multiple = true
    input.webkitdirectory = of === 'directory'
    const finish = () => {
      const files = [...(input.files ?? [])]
      input.remove()
      resolve(files.map((file) => ({ name: file.webkitRelativePath || file.name, file })))
    }
    input.addEventListener('change', finish)
    input.addEventListener('cancel', finish)
    document.body.append(input)
    input.click()
  })
}
