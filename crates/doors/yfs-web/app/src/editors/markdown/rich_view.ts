import type { Node } from 'prosemirror-model'
import type { Command } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type { EditorAction } from '../mounted_editor'

/** One block that the slash menu offers. */
export interface BlockCommand {
  label: string
  /** Further words that find it. */
  words: string
  hint: string
  run: Command
  /** Whether it can be used here; by default everywhere. */
  isEnabled?: (view: EditorView) => boolean
}

/** A ProseMirror view of one profile, not bound to a document yet. */
export interface RichView {
  view: EditorView
  blocks: BlockCommand[]
  /** Reads markdown; null if it has nothing. */
  parseMarkdown?: (markdown: string) => Node | null
  /** Returns what a person can do now, once that is loaded. */
  actions?: () => EditorAction[]
  destroy(): void
}

/** Destroys a view. Transactions that plugins have put off until then have no effect. */
export function destroyView(view: EditorView): void {
  view.destroy()
  view.dispatch = () => {}
}
