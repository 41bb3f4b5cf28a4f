// Links that come from typing and pasting, and the keys of links.

import type { Mark, Node, ResolvedPos } from 'prosemirror-model'
import { Plugin, TextSelection, type EditorState, type Transaction } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { addressAtEnd, hrefOf, isAddress, markdownLinkAtEnd, textBefore } from './link_text'
import { namesOf } from './schema_names'
import { dispatchAlone } from './undo_steps'

/** A link in the document. */
export interface LinkRange {
  from: number
  to: number
  href: string
}

const linkOf = (node: Node | null | undefined): Mark | undefined =>
  node?.marks.find(({ type }) => type.name === 'link')

/** Returns the link around or beside a place. */
export function linkAround($place: ResolvedPos): LinkRange | null {
  const { parent } = $place
  if (!parent.isTextblock) return null
  const mark = linkOf($place.nodeAfter) ?? linkOf($place.nodeBefore)
  if (mark === undefined) return null
  const isIn = (index: number) => mark.isInSet(parent.child(index).marks)
  let first = $place.index()
  if (first >= parent.childCount || !isIn(first)) first -= 1
  let from = $place.start()
  for (let n = 0; n < first; n++) from += parent.child(n).nodeSize
  let last = first
  while (first > 0 && isIn(first - 1)) from -= parent.child(--first).nodeSize
  let to = from
  for (let n = first; n <= last; n++) to += parent.child(n).nodeSize
  while (last + 1 < parent.childCount && isIn(last + 1)) to += parent.child(++last).nodeSize
  return { from, to, href: String(mark.attrs['href'] ?? '') }
}

/** Reports whether text at a place is code, in which nothing becomes a link. */
function isCode(state: EditorState, $place: ResolvedPos): boolean {
  const marks = state.storedMarks ?? $place.marks()
  return $place.parent.type.spec.code === true || marks.some(({ type }) => type.spec.code)
}

/** Returns the change that links a part of the text, if none of it is a link or code. */
function linked(state: EditorState, from: number, to: number, href: string): Transaction | null {
  const { link, code } = namesOf(state.schema)
  const { doc } = state
  if (doc.rangeHasMark(from, to, link) || doc.rangeHasMark(from, to, code)) return null
  return state.tr.addMark(from, to, link.create({ href })).removeStoredMark(link)
}

/** Links the address before a place; reports whether there was one. */
function linkAddressBefore(view: EditorView, end: number): void {
  const { state } = view
  if (end > state.doc.content.size) return
  const $end = state.doc.resolve(end)
  if (!$end.parent.isTextblock || isCode(state, $end)) return
  const found = addressAtEnd(textBefore($end))
  if (found === null) return
  const from = $end.start() + found.from
  const tr = linked(state, from, from + found.address.length, hrefOf(found.address) ?? '')
  if (tr !== null) dispatchAlone(view, tr)
}

/** After the last parenthesis of `[words](address)`. */
function linkMarkdown(view: EditorView, from: number): boolean {
  const { state } = view
  const $from = state.doc.resolve(from)
  const found = markdownLinkAtEnd(`${textBefore($from)})`)
  if (found === null || isCode(state, $from)) return false
  const start = $from.start() + found.from
  const typed = state.tr.insertText(')', from)
  const end = from + 1
  const wordsEnd = start + 1 + found.words.length
  if (state.doc.rangeHasMark(start, from, namesOf(state.schema).code)) return false
  view.dispatch(typed)
  const { link } = namesOf(state.schema)
  const tr = view.state.tr.delete(wordsEnd, end).delete(start, start + 1)
  tr.addMark(start, wordsEnd - 1, link.create({ href: found.href })).removeStoredMark(link)
  dispatchAlone(view, tr)
  return true
}

/** Reports whether the selection is words of one block, which can become a link. */
function isLinkable({ selection, doc }: EditorState): boolean {
  const { $from, $to, empty } = selection
  if (!(selection instanceof TextSelection) || empty || !$from.sameParent($to)) return false
  if ($from.parent.type.spec.code === true) return false
  return doc.textBetween($from.pos, $to.pos).trim() !== ''
}

/** Links the selected words to a pasted address, or inserts the address as a link. */
function pasteAddress(view: EditorView, text: string): boolean {
  const { state } = view
  const href = isAddress(text) ? hrefOf(text) : null
  const { $from, $to, empty } = state.selection
  if (href === null || isCode(state, $from)) return false
  const { link } = namesOf(state.schema)
  if (isLinkable(state) && !isAddress(state.doc.textBetween($from.pos, $to.pos))) {
    const tr = state.tr.removeMark($from.pos, $to.pos, link)
    tr.addMark($from.pos, $to.pos, link.create({ href }))
    dispatchAlone(view, tr.setSelection(TextSelection.create(tr.doc, $to.pos)))
    return true
  }
  if (!empty || !$from.parent.isTextblock) return false
  view.dispatch(state.tr.insertText(text).scrollIntoView())
  const tr = linked(view.state, $from.pos, $from.pos + text.length, href)
  if (tr !== null) dispatchAlone(view, tr)
  return true
}

/** Makes links of what is typed and pasted; Ctrl+K asks for one. */
export function typedLinks(askForLink: (view: EditorView) => void): Plugin {
  let isEntering = false
  return new Plugin({
    props: {
      handleTextInput(view, from, to, text) {
        if (view.composing || from !== to) return false
        if (text === ')') return linkMarkdown(view, from)
        if (text !== ' ' || addressAtEnd(textBefore(view.state.doc.resolve(from))) === null) {
          return false
        }
        view.dispatch(view.state.tr.insertText(' ', from))
        linkAddressBefore(view, from)
        return true
      },
      handleKeyDown(view, event) {
        if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key === 'k') {
          event.preventDefault()
          if (view.editable) askForLink(view)
          return true
        }
        const { selection } = view.state
        if (event.key !== 'Enter' || isEntering || view.composing || !selection.empty) return false
        const end = selection.from
        if (!selection.$from.parent.isTextblock) return false
        if (addressAtEnd(textBefore(selection.$from)) === null) return false
        isEntering = true
        const isHandled = view.someProp('handleKeyDown', (handle) => handle(view, event)) ?? false
        isEntering = false
        linkAddressBefore(view, end)
        return isHandled
      },
      handlePaste(view, event) {
        if (!view.editable) return false
        const text = event.clipboardData?.getData('text/plain').trim() ?? ''
        return pasteAddress(view, text)
      },
    },
  })
}
