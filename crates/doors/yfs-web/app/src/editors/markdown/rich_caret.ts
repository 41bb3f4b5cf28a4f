// The selection of the rich text as places in the document, to and from the editor of plain text.

import { Selection, TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import {
  absolutePositionToRelativePosition,
  relativePositionToAbsolutePosition,
  ySyncPluginKey,
  yUndoPluginKey,
} from 'y-prosemirror'
import type * as Y from 'yjs'
import { carrySelection, type SharedSelection } from '../caret/carry_caret'
import { carryUndo } from '../caret/carry_undo'
import { pressOf, type HeldKey } from '../caret/held_keys'

interface SyncState {
  doc: Y.Doc
  type: Y.XmlFragment
  binding: { mapping: never }
}

const syncState = (view: EditorView) => ySyncPluginKey.getState(view.state) as SyncState

const undoManagerOf = (view: EditorView) =>
  (yUndoPluginKey.getState(view.state) as { undoManager: Y.UndoManager }).undoManager

export function richSelection(view: EditorView): SharedSelection {
  const { type, binding } = syncState(view)
  const { anchor, head } = view.state.selection
  const place = (at: number) =>
    absolutePositionToRelativePosition(at, type, binding.mapping) as Y.RelativePosition
  const { undoStack } = undoManagerOf(view)
  return { root: 'richtext', anchor: place(anchor), head: place(head), undoStack }
}

/** Selects what another editor had selected, and types what was held. */
export function takeOverRich(view: EditorView, former: SharedSelection, keys: HeldKey[]): void {
  const { doc, type, binding } = syncState(view)
  carryUndo(undoManagerOf(view), former, 'richtext')
  const carried = carrySelection(doc, former, 'richtext')
  if (carried !== null) {
    const [anchor, head] = [carried.anchor, carried.head].map((place) =>
      relativePositionToAbsolutePosition(doc, type, place, binding.mapping),
    )
    if (anchor != null && head != null) select(view, anchor, head)
    if (carried.isInBlankLine === true && view.editable && view.hasFocus()) openParagraph(view)
  }
  if (view.editable) for (const key of keys) typeKey(view, key)
}

function select(view: EditorView, anchor: number, head: number): void {
  const { doc, tr } = view.state
  const [from, to] = [anchor, head].map((at) => doc.resolve(Math.min(at, doc.content.size)))
  const selection = anchor === head ? Selection.near(from!) : TextSelection.between(from!, to!)
  view.dispatch(tr.setSelection(selection).scrollIntoView())
}

/** Makes an empty paragraph after the block of a caret that stands at its end. */
function openParagraph(view: EditorView): void {
  const { selection, schema, tr } = view.state
  const { $from, empty } = selection
  const isAtEnd = $from.parentOffset === $from.parent.content.size
  const paragraph = schema.nodes['paragraph']?.createAndFill()
  if (!empty || !isAtEnd || $from.parentOffset === 0 || paragraph == null) return
  const after = $from.after(1)
  tr.insert(after, paragraph)
  view.dispatch(tr.setSelection(TextSelection.create(tr.doc, after + 1)).scrollIntoView())
}

function typeKey(view: EditorView, key: HeldKey): void {
  const { selection, tr } = view.state
  const { from, to, empty, $from } = selection
  if (typeof key === 'string') {
    const insert = () => view.state.tr.insertText(key, from, to)
    const isHandled = view.someProp('handleTextInput', (f) => f(view, from, to, key, insert))
    if (!isHandled) view.dispatch(insert().scrollIntoView())
    return
  }
  const press = pressOf(key)
  if (view.someProp('handleKeyDown', (f) => f(view, press))) return
  // What is left is what a browser does by itself.
  if (key.key === 'Backspace' && empty && $from.parentOffset > 0) {
    view.dispatch(tr.delete(from - 1, from))
  } else if (key.key === 'Delete' && empty && $from.parentOffset < $from.parent.content.size) {
    view.dispatch(tr.delete(from, from + 1))
  }
}
