// Where the footnotes of a document are, and a new one.

import type { Node } from 'prosemirror-model'
import { TextSelection, type Command, type EditorState } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { depthOf } from '../format/turn_into'

/** What is nearer to an edge of the window is moved to its middle, in CSS pixels. */
const EDGE = 80

const REFERENCE = 'footnote_reference'
const DEFINITION = 'footnote_definition'

/** Returns a label as GFM compares it. */
const normalized = (label: unknown) => String(label).trim().replace(/\s+/g, ' ').toLowerCase()

export const labelOf = ({ attrs }: Node): string => String(attrs['label'])

function placesOf(doc: Node, type: string, label: string): number[] {
  const places: number[] = []
  doc.descendants((node, at) => {
    const isWanted = node.type.name === type && normalized(node.attrs['label']) === label
    if (isWanted) places.push(at)
  })
  return places
}

/** Returns where the note of a label is; null if there is none. */
export const notePlace = (doc: Node, label: string): number | null =>
  placesOf(doc, DEFINITION, normalized(label))[0] ?? null

/** Returns the places in the text that refer to a note, in their order. */
export const referencePlaces = (doc: Node, label: string): number[] =>
  placesOf(doc, REFERENCE, normalized(label))

/** Returns the least number that no footnote has. */
function nextLabel(doc: Node): string {
  const labels = new Set<string>()
  doc.descendants(({ type, attrs }) => {
    if (type.name === REFERENCE || type.name === DEFINITION) labels.add(normalized(attrs['label']))
  })
  let number = 1
  while (labels.has(String(number))) number += 1
  return String(number)
}

/** Puts a reference behind the selection and its empty note at the end, with the caret in it. */
export const insertFootnote: Command = (state, dispatch) => {
  const { [REFERENCE]: reference, [DEFINITION]: definition, paragraph } = state.schema.nodes
  if (reference === undefined || definition === undefined || paragraph === undefined) return false
  const { $to, to } = state.selection
  const isText = $to.parent.inlineContent && $to.parent.type.spec.code !== true
  const isInNote = depthOf($to, ({ type }) => type === definition) !== -1
  if (!isText || isInNote) return false
  const label = nextLabel(state.doc)
  const tr = state.tr.insert(to, reference.create({ label }))
  const end = tr.doc.content.size
  tr.insert(end, definition.create({ label }, paragraph.create()))
  tr.setSelection(TextSelection.create(tr.doc, end + 2))
  dispatch?.(tr.scrollIntoView())
  return true
}

/** Reports whether a footnote can be put where the caret is. */
export const canInsertFootnote = (state: EditorState): boolean => insertFootnote(state)

/** Moves the caret to a place in the document, and the page with it. */
export function goTo(view: EditorView, place: number): void {
  const { doc, tr } = view.state
  const selection = TextSelection.near(doc.resolve(place))
  view.dispatch(tr.setSelection(selection).scrollIntoView())
  const { node } = view.domAtPos(selection.from)
  const block = node instanceof Element ? node : node.parentElement
  const { top = 0, bottom = 0 } = block?.getBoundingClientRect() ?? {}
  if (top < EDGE || bottom > innerHeight - EDGE) block?.scrollIntoView({ block: 'center' })
  view.focus()
}
