// Files that are dropped or pasted are stored beside the document: a picture is shown, another file
// is linked.

import { Plugin } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type { EditorWorkspace } from '../../documents'
import { fileUrl } from '../../session/file_url'
import { accepted } from '../../session/refusal_words'

/** How many names are tried for one picture. */
const MAX_NAMES = 100

async function upload(workspace: EditorWorkspace, directory: string, file: File): Promise<string> {
  const dot = file.name.lastIndexOf('.')
  const [stem, extension] =
    dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot)] : [file.name || 'picture', '']
  for (let n = 1; n <= MAX_NAMES; n++) {
    const name = n === 1 ? `${stem}${extension}` : `${stem}-${n}${extension}`
    const response = await workspace.fetch(fileUrl(`${directory}/${name}`), {
      method: 'PUT',
      headers: { 'If-None-Match': '*' },
      body: file,
    })
    if (response.ok) return name
    if (response.status !== 409 && response.status !== 412) await accepted(response, name)
  }
  throw new Error('all names are taken')
}

export function uploadImages(
  workspace: EditorWorkspace,
  filePath: () => string,
  report: (message: string) => void,
): Plugin {
  const insert = async (view: EditorView, files: File[]) => {
    for (const file of files) {
      try {
        const directory = filePath().split('/').slice(0, -1).join('/')
        const name = await upload(workspace, directory, file)
        const address = encodeURI(name)
        const { schema } = view.state
        const { nodes, marks } = schema
        const node = file.type.startsWith('image/')
          ? nodes['image']?.create({ src: address, alt: name, title: '' })
          : schema.text(name, marks['link'] ? [marks['link'].create({ href: address })] : [])
        if (node !== undefined) {
          view.dispatch(view.state.tr.replaceSelectionWith(node, false).scrollIntoView())
        }
      } catch (error) {
        report(`${file.name} was not added: ${error instanceof Error ? error.message : error}`)
      }
    }
  }
  const take = (view: EditorView, transfer: DataTransfer | null, isDrop: boolean): boolean => {
    const isTaken = ({ type }: File) => isDrop || type.startsWith('image/')
    const files = [...(transfer?.files ?? [])].filter(isTaken)
    if (files.length === 0 || !view.editable) return false
    void insert(view, files)
    return true
  }
  return new Plugin({
    props: {
      handlePaste: (view, event) => take(view, event.clipboardData, false),
      handleDrop: (view, event) => take(view, event.dataTransfer, true),
    },
  })
}
