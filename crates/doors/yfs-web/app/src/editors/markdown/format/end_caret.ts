// A caret after the last block, for documents that end in code, a table or a picture. It writes
// nothing: only what is typed there makes a paragraph.

import { GapCursor } from '@milkdown/kit/prose/gapcursor'
import type { Node } from 'prosemirror-model'
import { Plugin, TextSelection, type EditorState, type Transaction } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { ySyncPluginKey } from 'y-prosemirror'
import { namesOf } from './schema_names'

function isPicture(block: Node): boolean {
  const { image } = namesOf(block.type.schema)
  return block.childCount > 0 && block.children.every(({ type }) => type === image)
}

/** Reports whether a last block takes no new paragraph by typing at its end. */
function isClosed(block: Node): boolean {
  const { paragraph, heading, quote, bullets, numbers } = namesOf(block.type.schema)
  const isProse = [paragraph, heading, quote, bullets, numbers].includes(block.type)
  return !isProse || isPicture(block)
}

/** Puts the caret after the last block; into the last block if that is an empty paragraph. */
export function goAfterEnd(view: EditorView): void {
  const { doc, tr, schema } = view.state
  const last = doc.lastChild
  const end = doc.content.size
  const isEmpty = last?.type === namesOf(schema).paragraph && last.content.size === 0
  const place = isEmpty ? TextSelection.create(doc, end - 1) : new GapCursor(doc.resolve(end))
  view.dispatch(tr.setSelection(place).scrollIntoView())
  view.focus()
}

/** Reports whether the caret is in the last line of the document. */
function isInLastLine(view: EditorView): boolean {
  const { selection, doc } = view.state
  if (!(selection instanceof TextSelection) || !selection.empty) return false
  const { $head } = selection
  if ($head.after(1) !== doc.content.size) return false
  // In a table, below its last row.
  const isLast = (depth: number) => $head.index(depth) === $head.node(depth).childCount - 1
  for (let depth = 1; depth < $head.depth; depth++) {
    const isRow = $head.node(depth).type.name.startsWith('table_') && depth > 1
    if (!isRow && !isLast(depth)) return false
  }
  return view.endOfTextblock('down')
}

function endsInParagraph({ doc, schema }: EditorState): boolean {
  const { paragraph, heading } = namesOf(schema)
  const last = doc.lastChild
  return last === null || ([paragraph, heading].includes(last.type) && !isPicture(last))
}

function handleKey(view: EditorView, event: KeyboardEvent): boolean {
  const { doc } = view.state
  if (!view.editable || view.composing || event.altKey || event.shiftKey || event.metaKey) {
    return false
  }
  if (event.ctrlKey) {
    if (event.key !== 'End' || doc.lastChild === null || !isClosed(doc.lastChild)) return false
    goAfterEnd(view)
    return true
  }
  if (event.key !== 'ArrowDown' || endsInParagraph(view.state) || !isInLastLine(view)) return false
  goAfterEnd(view)
  return true
}

const isAfterEnd = ({ selection, doc }: EditorState): boolean =>
  selection instanceof GapCursor && selection.from === doc.content.size

/** Reports whether a transaction brought what others wrote. */
function isOfOthers(tr: Transaction): boolean {
  const meta = tr.getMeta(ySyncPluginKey) as Record<string, boolean> | undefined
  return meta?.['isChangeOrigin'] === true && meta['isUndoRedoOperation'] !== true
}

/** Keeps the caret after the last block when others write. */
function stayAfterEnd(
  trs: readonly Transaction[],
  before: EditorState,
  after: EditorState,
): Transaction | null {
  if (!isAfterEnd(before) || isAfterEnd(after) || !trs.some(isOfOthers)) return null
  const end = after.doc.resolve(after.doc.content.size)
  return after.tr.setSelection(new GapCursor(end))
}

/** The keys that lead after the last block, and clicks below it. */
export function endCaret(): Plugin {
  return new Plugin({
    props: { handleKeyDown: handleKey },
    appendTransaction: stayAfterEnd,
    view: (view) => {
      const page = view.dom.closest<HTMLElement>('.rich-page')
      const onMouseDown = (event: MouseEvent) => {
        const isBeside = event.target === page || event.target === view.dom.parentElement
        const isOutside = isBeside || event.target === view.dom
        if (!isOutside || event.button !== 0 || !view.editable) return
        const last = view.dom.lastElementChild
        if (last === null || event.clientY <= last.getBoundingClientRect().bottom) return
        event.preventDefault()
        goAfterEnd(view)
      }
      page?.addEventListener('mousedown', onMouseDown)
      return { destroy: () => page?.removeEventListener('mousedown', onMouseDown) }
    },
  })
}
