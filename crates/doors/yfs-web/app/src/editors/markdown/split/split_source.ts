// The source of a markdown file beside its rich text, which is the one live form: the source is
// written to it by merges, as in its own view, and what is typed in either shows in the other.

import type { EditorView as RichView } from 'prosemirror-view'
import type { MountedEditor, MountOptions } from '../../mounted_editor'
import { mountSourceView } from '../source_view'
import { makeDivider } from './divider'
import { ScrollSync } from './scroll_sync'
import './split.css'

export interface SplitOptions extends Omit<MountOptions, 'container'> {
  rich: RichView
  /** What scrolls the rich text. */
  pane: HTMLElement
  /** Whether it is not wanted any more. */
  isOvertaken: () => boolean
}

/** Shows the source beside the rich text; null if it was overtaken while it was loading. */
export async function mountSplitSource(options: SplitOptions): Promise<MountedEditor | null> {
  const { rich, pane, isOvertaken } = options
  const content = pane.parentElement!
  const divider = makeDivider(content)
  const container = document.createElement('div')
  container.className = 'editor-pane split-source'
  const source = await mountSourceView({ ...options, container })
  if (isOvertaken()) {
    source.destroy()
    return null
  }
  content.classList.add('is-split')
  content.append(divider, container)
  const sync = new ScrollSync(rich, pane, source.view)
  return {
    ...source,
    reveal: (line, column) => {
      sync.leadByText()
      source.reveal(line, column)
    },
    destroy: () => {
      sync.destroy()
      source.destroy()
      content.classList.remove('is-split')
      divider.remove()
      container.remove()
    },
  }
}
