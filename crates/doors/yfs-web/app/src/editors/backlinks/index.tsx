// The panel of the links to a file, in a place of the editor.

import { render } from 'preact'
import { BacklinksPanel, type BacklinksOptions } from './backlinks_panel'

export function mountBacklinks(
  container: HTMLElement,
  options: BacklinksOptions,
): { destroy(): void } {
  render(<BacklinksPanel {...options} />, container)
  return { destroy: () => render(null, container) }
}
