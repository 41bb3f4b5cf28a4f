// The picture of an SVG file. An image runs no script and loads nothing.

import { t } from '../../language/translate'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import './preview.css'

export function mountSvgPreview({
  container,
  document: opened,
  name,
}: MountOptions): MountedEditor {
  const text = opened.doc.getText('text')
  const root = document.createElement('div')
  root.className = 'svg-preview'
  root.tabIndex = 0
  const image = document.createElement('img')
  image.alt = t('Picture {name}', { name })
  const problem = document.createElement('p')
  problem.className = 'editor-message'
  problem.textContent = t('The file is not a complete picture yet.')
  root.append(image, problem)
  container.append(root)
  const show = () => {
    image.src = `data:image/svg+xml,${encodeURIComponent(text.toString())}`
  }
  image.addEventListener('load', () => (problem.hidden = true))
  image.addEventListener('error', () => (problem.hidden = false))
  problem.hidden = true
  text.observe(show)
  show()
  return {
    focus: () => root.focus(),
    reveal: () => {},
    rename: () => {},
    setReadOnly: () => {},
    destroy: () => text.unobserve(show),
  }
}
