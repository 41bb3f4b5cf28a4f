// Keys that change blocks: leaving code, headings that turn back, moving up and down.

import type { ResolvedPos } from 'prosemirror-model'
import { Plugin, Selection, TextSelection, type Command } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { textBefore } from './link_text'
import { namesOf } from './schema_names'
import { depthOf, turnInto, type BlockKind } from './turn_into'
import { dispatchAlone, endUndoStep } from './undo_steps'

/** Leaves code by Enter in its empty last line. */
const leaveCode: Command = (state, dispatch) => {
  const { $head, empty } = state.selection
  const { codeBlock, paragraph } = namesOf(state.schema)
  const { parent } = $head
  if (!empty || parent.type !== codeBlock || $head.parentOffset < parent.content.size) return false
  if (!parent.textContent.endsWith('\n')) return false
  const after = $head.after()
  const tr = state.tr.insert(after, paragraph.create()).delete($head.pos - 1, $head.pos)
  dispatch?.(tr.setSelection(TextSelection.create(tr.doc, after)).scrollIntoView())
  return true
}

const isAtStartOfHeading = ({ selection, schema }: EditorView['state']): boolean =>
  selection instanceof TextSelection &&
  selection.empty &&
  selection.$from.parentOffset === 0 &&
  selection.$from.parent.type === namesOf(schema).heading

/** Makes a heading a paragraph by Backspace at its start. */
function leaveHeading(view: EditorView): boolean {
  if (!isAtStartOfHeading(view.state)) return false
  const { tr, selection, schema } = view.state
  dispatchAlone(view, tr.setNodeMarkup(selection.$from.before(), namesOf(schema).paragraph))
  return true
}

/** Deletes the first letter of a heading. (Milkdown would change its level.) */
function deleteInHeading(view: EditorView): boolean {
  if (!isAtStartOfHeading(view.state)) return false
  const { $from } = view.state.selection
  const text = $from.nodeAfter?.isText === true ? $from.nodeAfter.text! : ''
  const [first] = new Intl.Segmenter().segment(text)
  const length = first?.segment.length ?? $from.nodeAfter?.nodeSize ?? 0
  if (length === 0) return false
  view.dispatch(view.state.tr.delete($from.pos, $from.pos + length))
  return true
}

/** Sets the level of a heading in which `## ` was typed. */
function setLevel(view: EditorView, from: number, to: number, text: string): boolean {
  const { state } = view
  const $from = state.doc.resolve(from)
  const { heading } = namesOf(state.schema)
  if (text !== ' ' || from !== to || $from.parent.type !== heading) return false
  const level = /^(#{1,6})$/.exec(textBefore($from))?.[1]?.length
  if (level === undefined) return false
  view.dispatch(state.tr.insertText(' ', from))
  const { tr } = view.state
  tr.setNodeMarkup($from.before(), undefined, { ...$from.parent.attrs, level })
  dispatchAlone(view, tr.delete($from.start(), from + 1))
  return true
}

/** Returns the depth of the block that moves with a place: an item, else a block of the page. */
function movedDepth($place: ResolvedPos): number {
  const { item } = namesOf($place.doc.type.schema)
  const depth = depthOf($place, ({ type }) => type === item)
  return depth === -1 ? 1 : depth
}

/** Moves the blocks of the selection over the one before or after them. */
export function moveBlocks(view: EditorView, direction: -1 | 1): boolean {
  const { selection, doc, tr } = view.state
  const { $from, $to } = selection
  if ($from.depth === 0 && !('node' in selection)) return false
  const depth = Math.max(
    1,
    Math.min(movedDepth($from), movedDepth($to), $from.sharedDepth($to.pos)),
  )
  const parent = $from.node(depth - 1)
  const [first, last] = [$from.index(depth - 1), $to.index(depth - 1)]
  const other = parent.maybeChild(direction === -1 ? first - 1 : last + 1)
  if (other === null) return true
  const from = $from.posAtIndex(first, depth - 1)
  const to = $from.posAtIndex(last + 1, depth - 1)
  if (direction === -1) tr.delete(from - other.nodeSize, from).insert(to - other.nodeSize, other)
  else tr.delete(to, to + other.nodeSize).insert(from, other)
  const by = direction * other.nodeSize
  const json = selection.toJSON() as { anchor: number; head?: number }
  const moved = {
    ...json,
    anchor: json.anchor + by,
    ...(json.head !== undefined && { head: json.head + by }),
  }
  if (doc.content.size !== tr.doc.content.size) return true
  dispatchAlone(view, tr.setSelection(Selection.fromJSON(tr.doc, moved)).scrollIntoView())
  return true
}

const KINDS: Record<string, BlockKind> = {
  Digit0: 'text',
  Digit7: 'numbers',
  Digit8: 'bullets',
  Digit9: 'tasks',
}

function turnByKey(view: EditorView, event: KeyboardEvent): boolean {
  const level = /^Digit([1-6])$/.exec(event.code)?.[1]
  const kind = level === undefined ? KINDS[event.code] : (`heading-${level}` as BlockKind)
  if (kind === undefined || event.getModifierState('AltGraph')) return false
  if (kind === 'tasks' && !namesOf(view.state.schema).hasTasks) return false
  endUndoStep(view)
  turnInto(view, kind)
  endUndoStep(view)
  return true
}

function handleKey(view: EditorView, event: KeyboardEvent): boolean {
  if (!view.editable || view.composing) return false
  const isMod = event.ctrlKey || event.metaKey
  if (isMod && event.altKey && !event.shiftKey) return turnByKey(view, event)
  if (event.altKey && !isMod && !event.shiftKey) {
    if (event.key === 'ArrowUp') return moveBlocks(view, -1)
    return event.key === 'ArrowDown' && moveBlocks(view, 1)
  }
  if (isMod || event.altKey || event.shiftKey) return false
  if (event.key === 'Enter') return leaveCode(view.state, view.dispatch)
  if (event.key === 'Backspace') return leaveHeading(view)
  return event.key === 'Delete' && deleteInHeading(view)
}

export function blockKeys(): Plugin {
  return new Plugin({ props: { handleKeyDown: handleKey, handleTextInput: setLevel } })
}
