// Turns the blocks of the selection into others, in both profiles.

import { lift, setBlockType, wrapIn } from 'prosemirror-commands'
import type { Node, NodeType, ResolvedPos } from 'prosemirror-model'
import { liftListItem, wrapInList } from 'prosemirror-schema-list'
import {
  AllSelection,
  Selection,
  TextSelection,
  type Command,
  type EditorState,
  type Transaction,
} from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { namesOf } from './schema_names'

export type BlockKind =
  | 'text'
  | 'heading-1'
  | 'heading-2'
  | 'heading-3'
  | 'heading-4'
  | 'heading-5'
  | 'heading-6'
  | 'bullets'
  | 'numbers'
  | 'tasks'
  | 'quote'
  | 'code'

/** Returns the depth of the innermost block around a place that fits; -1 if none does. */
export function depthOf($place: ResolvedPos, fits: (node: Node) => boolean): number {
  for (let depth = $place.depth; depth > 0; depth--) if (fits($place.node(depth))) return depth
  return -1
}

/** Returns what the block with the caret is. */
export function kindAt(state: EditorState): BlockKind {
  const { $from } = state.selection
  const names = namesOf(state.schema)
  const { parent } = $from
  if (parent.type === names.heading) return `heading-${parent.attrs['level']}` as BlockKind
  if (parent.type === names.codeBlock) return 'code'
  const isList = ({ type }: Node) => type === names.bullets || type === names.numbers
  const depth = depthOf($from, (node) => isList(node) || node.type === names.quote)
  if (depth === -1) return 'text'
  const type = $from.node(depth).type
  if (type === names.quote) return 'quote'
  if (type === names.numbers) return 'numbers'
  const item = depth < $from.depth ? $from.node(depth + 1) : null
  return typeof item?.attrs['checked'] === 'boolean' ? 'tasks' : 'bullets'
}

/** Runs a command as long as it does anything. */
function repeat(view: EditorView, command: Command): void {
  for (let n = 0; n < 8 && command(view.state, view.dispatch); n++);
}

/** Changes all items that the selection is in. */
function changeItems(
  { state }: EditorView,
  change: (tr: Transaction, item: Node, at: number) => void,
): Transaction {
  const { item } = namesOf(state.schema)
  const { $from, $to } = state.selection
  const { tr } = state
  const depth = depthOf($from, ({ type }) => type === item)
  const from = depth === -1 ? $from.pos : $from.before(depth)
  state.doc.nodesBetween(from, $to.pos, (node, at) => {
    if (node.type === item) change(tr, node, at)
  })
  return tr
}

function setTasks(view: EditorView, isTask: boolean): void {
  const tr = changeItems(view, (tr, item, at) => {
    const checked = isTask ? (item.attrs['checked'] ?? false) : null
    if (item.attrs['checked'] !== checked) {
      tr.setNodeMarkup(at, undefined, { ...item.attrs, checked })
    }
  })
  if (tr.docChanged) view.dispatch(tr)
}

/** The attributes of a list without blank lines between its items. */
const tight = (type: NodeType) => ({
  ...('tight' in (type.spec.attrs ?? {}) ? { tight: true } : {}),
  ...('spread' in (type.spec.attrs ?? {}) ? { spread: false } : {}),
})

function makeTight(view: EditorView): void {
  const tr = changeItems(view, (tr, item, at) => {
    if (item.attrs['spread'] === true) {
      tr.setNodeMarkup(at, undefined, { ...item.attrs, spread: false })
    }
  })
  if (tr.docChanged) view.dispatch(tr)
}

function turnIntoList(view: EditorView, type: NodeType): void {
  const names = namesOf(view.state.schema)
  if (view.state.selection.$from.parent.type !== names.paragraph) {
    setBlockType(names.paragraph)(view.state, view.dispatch)
  }
  const { $from } = view.state.selection
  const depth = depthOf($from, (node) => node.type === names.bullets || node.type === names.numbers)
  if (depth === -1) {
    wrapInList(type, tight(type))(view.state, view.dispatch)
    makeTight(view)
    return
  }
  const list = $from.node(depth)
  if (list.type === type) return
  const isNumbered = type === names.numbers
  const tr = view.state.tr.setNodeMarkup($from.before(depth), type, tight(type))
  list.forEach((item, offset, index) => {
    if (!('listType' in item.attrs)) return
    const own = {
      listType: isNumbered ? 'ordered' : 'bullet',
      label: isNumbered ? `${index + 1}.` : '•',
    }
    tr.setNodeMarkup($from.start(depth) + offset, undefined, { ...item.attrs, ...own })
  })
  view.dispatch(tr)
}

function leaveList(view: EditorView): void {
  const { item } = namesOf(view.state.schema)
  setTasks(view, false)
  repeat(view, liftListItem(item))
}

function turnIntoQuote(view: EditorView): void {
  const { quote } = namesOf(view.state.schema)
  const isIn = depthOf(view.state.selection.$from, ({ type }) => type === quote) !== -1
  ;(isIn ? lift : wrapIn(quote))(view.state, view.dispatch)
}

/** Selects from the first letter to the last one, in place of the whole document. */
function selectText(view: EditorView): void {
  const { doc, tr } = view.state
  const [start, end] = [Selection.atStart(doc), Selection.atEnd(doc)]
  view.dispatch(tr.setSelection(TextSelection.between(start.$from, end.$to)))
}

/** Turns the selected blocks into a kind; a list or quote that they are already is undone. */
export function turnInto(view: EditorView, kind: BlockKind): void {
  if (view.state.selection instanceof AllSelection) selectText(view)
  const names = namesOf(view.state.schema)
  const isSame = kindAt(view.state) === kind
  switch (kind) {
    case 'bullets':
    case 'numbers':
    case 'tasks':
      if (isSame) return leaveList(view)
      turnIntoList(view, kind === 'numbers' ? names.numbers : names.bullets)
      if (names.hasTasks) setTasks(view, kind === 'tasks')
      return
    case 'quote':
      return turnIntoQuote(view)
    case 'code':
      leaveList(view)
      setBlockType(isSame ? names.paragraph : names.codeBlock)(view.state, view.dispatch)
      return
    case 'text':
      leaveList(view)
      if (depthOf(view.state.selection.$from, ({ type }) => type === names.quote) !== -1) {
        repeat(view, lift)
      }
      setBlockType(names.paragraph)(view.state, view.dispatch)
      return
    default:
      leaveList(view)
      setBlockType(names.heading, { level: Number(kind.slice(-1)) })(view.state, view.dispatch)
  }
}
