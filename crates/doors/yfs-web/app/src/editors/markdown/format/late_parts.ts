// The parts of writing that are loaded after the document is shown.

import { Plugin } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type { RichView } from '../rich_view'
import type { WritingParts } from './writing_parts'

export interface LateContext {
  /** Where the bar goes, before the page. */
  container: HTMLElement
  /** Returns the present path of the file. */
  path: () => string
  report: (message: string) => void
  /** The id of the file. */
  id: string
}

export interface LateParts {
  plugin: Plugin
  askForLink: (view: EditorView) => void
}

/** Loads what is not needed for the first key, and calls it when it is here. */
export function lateParts(rich: RichView, context: LateContext): LateParts {
  let parts: WritingParts | null = null
  let isGone = false
  const loaded = () =>
    import('./writing_parts').then(({ WritingParts }) => {
      if (!isGone) parts ??= new WritingParts(rich, context)
      return parts
    })
  const plugin = new Plugin({
    view: () => {
      void loaded()
      return {
        update: (_view, before) => parts?.update(before),
        destroy: () => {
          isGone = true
          parts?.destroy()
        },
      }
    },
    props: {
      handleKeyDown: (_view, event) => parts?.handleKey(event) ?? false,
      handleDrop: (_view, event) => parts?.handleDrop(event) ?? false,
    },
  })
  rich.actions = () => parts?.actions() ?? []
  return { plugin, askForLink: () => void loaded().then((ready) => ready?.askForLink()) }
}
