// The headings of a document and its number of words, for those that show them.

import { signal, type Signal } from '@preact/signals'
import type { Node } from 'prosemirror-model'
import { TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type * as Y from 'yjs'
import type { DocumentSymbols, EditorSymbol, OutlineItem, TextCounts } from '../../mounted_editor'

/** How long after the last change the document is read again. */
const REFRESH_MS = 400
const WORDS_PER_MINUTE = 230
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Returns the id of a heading as GitHub makes it. */
function slugOf(text: string): string {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
  return plain.replace(/ /g, '-')
}

/** Calls with each heading of a document, its place and its id. */
function forEachHeading(doc: Node, visit: (node: Node, at: number, id: string) => void): void {
  const counts = new Map<string, number>()
  doc.descendants((node, at) => {
    if (node.type.name === 'heading') {
      const slug = slugOf(node.textContent)
      const n = counts.get(slug) ?? 0
      counts.set(slug, n + 1)
      visit(node, at, n === 0 ? slug : `${slug}-${n}`)
    }
    return !node.isTextblock
  })
}

/** Returns the id of the heading at a place. */
export function headingIdAt(doc: Node, place: number): string | null {
  let found: string | null = null
  forEachHeading(doc, (_node, at, id) => {
    if (at === place) found = id
  })
  return found
}

/** Moves the caret to a heading; reports whether it exists. */
export function revealHeading(view: EditorView, id: string): boolean {
  let place = -1
  forEachHeading(view.state.doc, (_node, at, own) => {
    if (own === id && place === -1) place = at
  })
  if (place === -1) return false
  const { tr, doc } = view.state
  const selection = TextSelection.near(doc.resolve(place + 1))
  view.dispatch(tr.setSelection(selection).scrollIntoView())
  const heading = view.nodeDOM(place)
  if (heading instanceof HTMLElement) heading.scrollIntoView({ block: 'start' })
  view.focus()
  return true
}

/** Returns the headings of a document. */
export function outlineOf(doc: Node): OutlineItem[] {
  const items: OutlineItem[] = []
  forEachHeading(doc, ({ textContent, attrs }, _at, id) => {
    if (textContent.trim() !== '') items.push({ id, level: attrs['level'], text: textContent })
  })
  return items
}

/** Returns how long a document is. */
export function countsOf(doc: Node): TextCounts {
  let [words, characters] = [0, 0]
  doc.descendants((node) => {
    if (!node.isTextblock) return true
    const text = node.textContent
    characters += text.length
    // Only scripts without spaces need the segmenter, which is slow.
    if (/[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff]/.test(text)) {
      for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) words += 1
    } else words += text.match(/[\p{L}\p{N}][^\s]*/gu)?.length ?? 0
    return false
  })
  return { words, characters, minutes: Math.max(1, Math.round(words / WORDS_PER_MINUTE)) }
}

/** Keeps the outline and the counts while they are shown. */
export class DocumentOutline {
  readonly outline: Signal<OutlineItem[]>
  readonly counts: Signal<TextCounts>
  private nWatching = 0
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly view: EditorView,
    private readonly document: Y.Doc,
  ) {
    document.on('update', this.onUpdate)
    const watched = () => {
      this.nWatching += 1
      this.schedule(0)
    }
    const options = { watched, unwatched: () => (this.nWatching -= 1) }
    this.outline = signal<OutlineItem[]>([], options)
    this.counts = signal<TextCounts>({ words: 0, characters: 0, minutes: 1 }, options)
  }

  private readonly onUpdate = () => {
    if (this.nWatching > 0) this.schedule(REFRESH_MS)
  }

  /** Moves the caret to a heading; reports whether it exists. */
  reveal(id: string): boolean {
    return revealHeading(this.view, id)
  }

  /** Returns the headings for the list of symbols. */
  symbols(): DocumentSymbols {
    const { doc, selection } = this.view.state
    const symbols: EditorSymbol[] = []
    let current = -1
    forEachHeading(doc, ({ textContent: name, attrs }, at, id) => {
      if (name.trim() === '') return
      if (at < selection.head) current = symbols.length
      const go = () => void this.reveal(id)
      symbols.push({ kind: 'heading', name, depth: attrs['level'] - 1, go })
    })
    return { symbols, current }
  }

  destroy(): void {
    this.document.off('update', this.onUpdate)
    clearTimeout(this.timer)
    this.nWatching = 0
  }

  private schedule(delay: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      const { doc } = this.view.state
      const outline = outlineOf(doc)
      const isSame = JSON.stringify(outline) === JSON.stringify(this.outline.peek())
      if (!isSame) this.outline.value = outline
      this.counts.value = countsOf(doc)
    }, delay)
  }
}
