// Formulas in a text: `$..$` in a line, `$$..$$` on its own.

import type { Node } from 'prosemirror-model'
import { TextSelection } from 'prosemirror-state'
import { Decoration, type EditorView } from 'prosemirror-view'
import { leafText, type LookPlace, type TextMatch } from './inline_looks'

const DISPLAY = /^\s*\$\$([^$]+)\$\$\s*$/
/** As Pandoc has it: no space inside of the dollars, no digit after them. */
const INLINE = /(?<![\\$\w])\$(?![\s$])([^$\n\r\ufffc]*[^$\s\\\ufffc])\$(?![\d$])/g

/** Returns the source of a piece: emphasis is an underscore, and a line end was `\\`. */
function sourceOf(block: Node, from: number, to: number): string {
  let source = ''
  block.nodesBetween(from, to, (node, at) => {
    if (!node.isText) {
      source += leafText(node).replace('\r', '\\\\\n')
      return
    }
    const text = node.text!.slice(Math.max(0, from - at), to - at)
    const isEmphasis = node.marks.some(({ type }) => type.name.startsWith('em'))
    source += isEmphasis ? `_${text}_` : text
  })
  return source.replace(/(?<!\\)\\(?=\n|$)/g, '\\\\')
}

export function findFormulas(text: string, block: Node): TextMatch[] {
  const display = DISPLAY.exec(text)
  if (display !== null) {
    const from = text.indexOf('$$') + 2
    const source = sourceOf(block, from, text.lastIndexOf('$$'))
    return [{ kind: 'display', from: 0, to: text.length, text: source, label: 0 }]
  }
  return [...text.matchAll(INLINE)].map(({ 0: whole, index }) => {
    const [from, to] = [index, index + whole.length]
    return { kind: 'formula', from, to, text: sourceOf(block, from + 1, to - 1), label: 0 }
  })
}

function makeFormula(view: EditorView, position: () => number | undefined, match: TextMatch) {
  const isDisplay = match.kind === 'display'
  const shown = document.createElement('span')
  shown.className = isDisplay ? 'formula is-display' : 'formula'
  shown.contentEditable = 'false'
  shown.textContent = match.text
  shown.addEventListener('mousedown', (event) => {
    const at = position()
    if (at === undefined || !view.editable) return
    event.preventDefault()
    const place = at + (isDisplay ? 2 : 1)
    view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, place)))
    view.focus()
  })
  import('./math')
    .then(({ showMath }) => showMath(shown, match.text, isDisplay))
    .catch((error: unknown) => {
      shown.classList.add('preview-error')
      shown.title = error instanceof Error ? error.message : String(error)
    })
  return shown
}

export function formulaLooks(match: TextMatch, { from, to, isOpen }: LookPlace): Decoration[] {
  if (isOpen) return [Decoration.inline(from, to, { class: 'open-source' })]
  const block = Decoration.node(from - 1, to + 1, { class: 'has-no-line' })
  return [
    ...(match.kind === 'display' ? [block] : []),
    Decoration.inline(from, to, { class: 'hidden-source' }),
    Decoration.widget(from, (view, position) => makeFormula(view, position, match), {
      key: `${match.kind} ${match.text}`,
      side: -1,
      ignoreSelection: true,
    }),
  ]
}
