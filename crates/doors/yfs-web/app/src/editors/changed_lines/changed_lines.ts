// Marks of lines that differ from a base, in the margin of a text, and the way between them.

import type { Chunk } from '@codemirror/merge'
import type { Extension, Text } from '@codemirror/state'
import {
  EditorView,
  gutter,
  GutterMarker,
  keymap,
  ViewPlugin,
  type BlockInfo,
  type ViewUpdate,
} from '@codemirror/view'
import './changed_lines.css'
import { changePanel, showChange } from './change_panel'
import { chunksOf, comparison, placeOf, setBase, type ChangedPlace } from './changed_places'

/** How long after the last key long changes are compared again. */
const PAUSE_MS = 500

class ChangeMarker extends GutterMarker {
  constructor(private readonly kind: string) {
    super()
  }

  override eq(other: ChangeMarker): boolean {
    return other.kind === this.kind
  }

  override toDOM(): HTMLElement {
    const mark = document.createElement('div')
    mark.className = `change-mark is-${this.kind}`
    return mark
  }
}

/** Returns the chunk that begins last before the end of a line. */
function chunkBefore(chunks: readonly Chunk[], end: number, doc: Text): Chunk | undefined {
  let [low, high] = [0, chunks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (Math.min(chunks[middle]!.fromB, doc.length) <= end) low = middle + 1
    else high = middle
  }
  return chunks[low - 1]
}

/** The line with the mark of a place: what was deleted at the end is marked below the last one. */
const markedLine = ({ line }: ChangedPlace, doc: Text) => Math.min(line, doc.lines)

/** Returns what differs at a line of the text, with its chunk. */
function changeAt(
  view: EditorView,
  position: number,
): { chunk: Chunk; place: ChangedPlace } | null {
  const { state } = view
  const { number, to } = state.doc.lineAt(position)
  const chunk = chunkBefore(chunksOf(state), to, state.doc)
  if (chunk === undefined || (chunk.toB < position && chunk.toB > chunk.fromB)) return null
  const place = placeOf(state, chunk)
  const first = markedLine(place, state.doc)
  const last = Math.max(first, place.line + place.now.length - 1)
  return number >= first && number <= last ? { chunk, place } : null
}

function markerOf(view: EditorView, line: BlockInfo): GutterMarker | null {
  const found = changeAt(view, line.from)
  if (found === null) return null
  const isBelow = found.place.line > view.state.doc.lines
  return new ChangeMarker(isBelow ? 'deleted is-below' : found.place.kind)
}

function openAt(view: EditorView, position: number): boolean {
  const found = changeAt(view, position)
  if (found === null) return false
  view.dispatch({ effects: showChange.of(found.chunk.fromB) })
  return true
}

/** Moves the caret to the next or the previous change; an open panel goes with it. */
export function stepChange(view: EditorView, by: 1 | -1): boolean {
  const { state } = view
  const chunks = chunksOf(state)
  if (chunks.length === 0) return false
  const here = state.doc.lineAt(state.selection.main.head).number
  const lines = chunks.map((chunk) => markedLine(placeOf(state, chunk), state.doc))
  const found =
    by === 1 ? lines.findIndex((line) => line > here) : lines.findLastIndex((line) => line < here)
  const at = found !== -1 ? found : by === 1 ? 0 : chunks.length - 1
  const anchor = state.doc.line(lines[at]!).from
  const isOpen = view.dom.querySelector('.change-panel') !== null
  view.dispatch({
    selection: { anchor },
    effects: [
      EditorView.scrollIntoView(anchor, { y: 'center' }),
      ...(isOpen ? [showChange.of(chunks[at]!.fromB)] : []),
    ],
  })
  if (!isOpen) view.focus()
  return true
}

/** Shows what stood before at the line with the caret. */
export const showHere = (view: EditorView): boolean => openAt(view, view.state.selection.main.head)

/** Compares long changes again when keys pause. */
class Recomparison {
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly view: EditorView) {}

  update({ docChanged, state }: ViewUpdate): void {
    if (!docChanged || state.field(comparison)?.isStale !== true) return
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      const now = this.view.state.field(comparison)
      if (now?.isStale === true) this.view.dispatch({ effects: setBase.of(now.base) })
    }, PAUSE_MS)
  }

  destroy(): void {
    clearTimeout(this.timer)
  }
}

const marks = gutter({
  class: 'change-gutter',
  lineMarker: markerOf,
  lineMarkerChange: ({ startState, state }) =>
    startState.field(comparison) !== state.field(comparison),
  domEventHandlers: { click: (view, line) => openAt(view, line.from) },
})

export const changedLinesExtension = (): Extension => [
  comparison,
  changePanel(stepChange),
  marks,
  ViewPlugin.fromClass(Recomparison),
  keymap.of([
    { key: 'Alt-F5', run: (view) => stepChange(view, 1), shift: (view) => stepChange(view, -1) },
    { key: 'Alt-F3', run: showHere },
  ]),
]
