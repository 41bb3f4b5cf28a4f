// Pastes what other programs copied.

import { DOMParser, Slice, type Node } from 'prosemirror-model'
import type { EditorView } from 'prosemirror-view'
import { namesOf } from '../schema_names'
import { endUndoStep } from '../undo_steps'
import { cleanHtml } from './clean_html'
import { cellsOf, isMarkdown, tableHtml } from './pasted_text'

/** What an event of the clipboard has. */
export interface Pasted {
  html: string
  text: string
  /** What Visual Studio Code adds. */
  editorData: string
}

/** Reports whether HTML has no structure of its own. */
const isBareHtml = (html: string): boolean =>
  !/<(?:p|h\d|ul|ol|li|table|a|b|strong|em|i|pre|blockquote|code)[\s>]/i.test(html)

function insert(view: EditorView, slice: Slice): void {
  const { $from, empty } = view.state.selection
  const { paragraph } = namesOf(view.state.schema)
  const isEmpty = empty && $from.parent.type === paragraph && $from.parent.content.size === 0
  const isInline = slice.content.childCount === 1 && slice.content.firstChild?.type === paragraph
  // What comes into an empty paragraph takes its place.
  const whole = isEmpty && !isInline ? new Slice(slice.content, 0, 0) : slice
  endUndoStep(view)
  view.dispatch(view.state.tr.replaceSelection(whole).scrollIntoView().setMeta('uiEvent', 'paste'))
  endUndoStep(view)
}

function insertHtml(view: EditorView, html: string): void {
  const { schema } = view.state
  const dom = cleanHtml(html, namesOf(schema))
  insert(view, DOMParser.fromSchema(schema).parseSlice(dom))
}

function insertCode(view: EditorView, text: string, data: string): void {
  const { codeBlock } = namesOf(view.state.schema)
  let language = ''
  try {
    language = String((JSON.parse(data) as { mode?: string }).mode ?? '')
  } catch {
    // Code without a language is code too.
  }
  const key = 'language' in (codeBlock.spec.attrs ?? {}) ? 'language' : 'params'
  const node = codeBlock.create(
    { [key]: language },
    view.state.schema.text(text.replace(/\r\n?/g, '\n').replace(/\n$/, '')),
  )
  view.dispatch(view.state.tr.replaceSelectionWith(node).scrollIntoView())
}

/** Pastes; reports whether it did, else the editor's own way is right. */
export function pasteContent(
  view: EditorView,
  { html, text, editorData }: Pasted,
  parse: ((markdown: string) => Node | null) | undefined,
): boolean {
  if (editorData !== '' && text.includes('\n')) {
    insertCode(view, text, editorData)
    return true
  }
  const isText = html === '' || (isBareHtml(html) && isMarkdown(text))
  if (!isText) {
    insertHtml(view, html)
    return true
  }
  const cells = namesOf(view.state.schema).table === undefined ? null : cellsOf(text)
  if (cells !== null) {
    insertHtml(view, tableHtml(cells))
    return true
  }
  const parsed = isMarkdown(text) ? parse?.(text) : null
  if (!parsed) return false
  const { content } = parsed
  const open = (node: Node | null) => (node?.type.name === 'paragraph' ? 1 : 0)
  insert(view, new Slice(content, open(content.firstChild), open(content.lastChild)))
  return true
}
