// The caret of a person when the content of a file moves to the other root: it stays in its words,
// and what the person typed meanwhile comes along.

import * as Y from 'yjs'
import { settledClock, type ContentRoot } from '../../documents/content_root'
import { OffsetMap } from './map_offset'
import type { UndoStep } from './carry_undo'
import { RootText, type SharedPlace } from './root_text'

/** A selection, as places in the root that an editor shows. */
export interface SharedSelection {
  root: ContentRoot
  anchor: Y.RelativePosition
  head: Y.RelativePosition
  /** Whether it is a caret in a line without text, which the other root may not have. */
  isInBlankLine?: boolean
  /** What the person can undo, the latest last. */
  undoStack?: readonly UndoStep[]
}

/** The origin of what moves with a caret: its person can undo it. */
export const CARRIED = { name: 'carried with the caret' }

export const rootOf = (doc: Y.Doc, root: ContentRoot) =>
  root === 'text' ? doc.getText('text') : doc.getXmlFragment('richtext')

const relative = ({ type, index }: SharedPlace) =>
  Y.createRelativePositionFromTypeIndex(type, index, type.length === 0 ? -1 : 0)

/** Returns the text of a former root, in which own items that no settlement knows are late. */
export function formerText(doc: Y.Doc, root: ContentRoot): RootText {
  const since = settledClock(doc, doc.clientID)
  const nKnown = ({ id, length }: Y.Item) =>
    id.client === doc.clientID ? Math.max(0, Math.min(since - id.clock, length)) : length
  return new RootText(rootOf(doc, root), nKnown)
}

/** Returns the same selection in another root; null if it has no place for it. */
export function carrySelection(
  doc: Y.Doc,
  former: SharedSelection,
  root: ContentRoot,
): SharedSelection | null {
  if (former.root === root) return former
  const from = formerText(doc, former.root)
  const to = new RootText(rootOf(doc, root))
  const [anchor, head] = [former.anchor, former.head].map((place) => {
    const found = Y.createAbsolutePositionFromRelativePosition(place, doc)
    return found === null ? null : from.offsetOf(found)
  })
  if (anchor == null || head == null) return null
  if (anchor === head) {
    const place = carryCaret(doc, from, head, to)
    if (place === null) return null
    const isInBlankLine = from.isBlankLine(head)
    return { root, anchor: relative(place), head: relative(place), isInBlankLine }
  }
  const places = [anchor, head].map((offset) => to.placeAt(mappedTo(from, offset, to).offset))
  const [first, second] = places
  if (first == null || second == null) return null
  return { root, anchor: relative(first), head: relative(second) }
}

function mappedTo(from: RootText, offset: number, to: RootText) {
  const settled = from.settled(offset)
  return new OffsetMap(settled.text, to.text).map(settled.offset)
}

/** Moves what was typed since the settlement, up to a caret; returns the place behind it. */
function carryCaret(doc: Y.Doc, from: RootText, caret: number, to: RootText): SharedPlace | null {
  const start = from.lateStart(caret)
  const { offset, missing, reference } = mappedTo(from, start, to)
  const typed = from.text.slice(start, caret)
  const source = from.placeAt(start)
  const target = to.placeAt(offset)
  if (target === null || source === null) return target
  const insert = (reference > 0 ? ' ' : missing) + typed
  doc.transact(() => {
    if (typed !== '') (source.type as Y.Text).delete(source.index, typed.length)
    if (reference > 0) {
      target.index -= reference
      ;(target.type as Y.Text).delete(target.index, reference)
    }
    if (insert !== '') insertAt(target, insert)
  }, CARRIED)
  return target
}

function insertAt(place: SharedPlace, insert: string): void {
  if (place.type instanceof Y.XmlElement) {
    const text = new Y.XmlText()
    place.type.insert(0, [text])
    place.type = text
  }
  place.type.insert(place.index, insert)
  place.index += insert.length
}
