// What changes of the editor and of the shared text are in terms of each other.

import {
  Annotation,
  StateField,
  type ChangeSpec,
  type Text,
  type Transaction,
} from '@codemirror/state'
import type * as Y from 'yjs'
import { LineEnds, lineEndsOf, type EndChange, type LineEnd } from './line_ends'

/** Stands for an embedded object, which other editors may add: it is one unit long in a `Y.Text`. */
const OBJECT = '\ufffc'
/** What Yjs leaves of each half of a pair of surrogates that was split. */
const REPLACEMENT = '\ufffd'

const isHigh = (unit: string) => unit >= '\ud800' && unit <= '\udbff'
const isLow = (unit: string) => unit >= '\udc00' && unit <= '\udfff'

const stringOf = (content: unknown) => (typeof content === 'string' ? content : OBJECT)

/** Returns the text in which each unit of a `Y.Text` is one unit. */
export function sharedString(text: Y.Text): string {
  const delta = text.toDelta() as { insert: unknown }[]
  return delta.map(({ insert }) => stringOf(insert)).join('')
}

/** The line ends of what a transaction inserts, if the shared text has it already. */
export const sharedEnds = Annotation.define<readonly LineEnd[]>()

export interface LocalEdit {
  /** The ends after what the editor did. */
  edited: LineEnds
  /** The lines, from 1, whose CR becomes CR LF, because the LF of an empty line follows it now. */
  repaired: number[]
}

/** Returns what a transaction does to the line ends. */
export function localEdit(ends: LineEnds, tr: Transaction): LocalEdit {
  const given = [...(tr.annotation(sharedEnds) ?? [])]
  const isShared = tr.annotation(sharedEnds) !== undefined
  const prevailing = ends.prevailing
  const changes: EndChange[] = []
  const touched: [number, number][] = []
  tr.changes.iterChanges((fromA, toA, fromB, toB, inserted) => {
    const index = tr.startState.doc.lineAt(fromA).number - 1
    const nRemoved = tr.startState.doc.lineAt(toA).number - 1 - index
    const nAdded = inserted.lines - 1
    touched.push([fromB, toB])
    if (nRemoved === 0 && nAdded === 0) return
    const added = isShared ? given.splice(0, nAdded) : Array<LineEnd>(nAdded).fill(prevailing)
    changes.push({ index, nRemoved, added })
  })
  const edited = changes.length === 0 ? ends : ends.with(changes)
  const repaired = isShared || !edited.hasLoneCr ? [] : crBeforeLf(edited, tr.newDoc, touched)
  return { edited, repaired }
}

/** Returns the lines in changed ranges whose CR and the LF of the empty line below would be one. */
function crBeforeLf(ends: LineEnds, doc: Text, touched: [number, number][]): number[] {
  const lines = new Set<number>()
  for (const [from, to] of touched) {
    const last = doc.lineAt(to).number
    for (
      let line = Math.max(2, doc.lineAt(from).number);
      line <= Math.min(last + 1, doc.lines);
      line++
    ) {
      const isJoined = ends.at(line - 2) === '\r' && ends.at(line - 1) === '\n'
      if (isJoined && doc.line(line).length === 0) lines.add(line - 1)
    }
  }
  return [...lines].sort((a, b) => a - b)
}

function repairedEnds({ edited, repaired }: LocalEdit): LineEnds {
  if (repaired.length === 0) return edited
  const added: LineEnd[] = ['\r\n']
  return edited.with(repaired.map((line) => ({ index: line - 1, nRemoved: 1, added })))
}

/** The line ends of the editor's document. */
export const lineEnds = StateField.define<LineEnds>({
  create: () => LineEnds.of(''),
  update: (ends, tr) => (tr.docChanged ? repairedEnds(localEdit(ends, tr)) : ends),
})

/** Writes what a transaction of the editor did to the shared text. */
export function writeChanges(text: Y.Text, tr: Transaction): void {
  const before = tr.startState.field(lineEnds)
  const after = tr.state.field(lineEnds)
  const { edited, repaired } = localEdit(before, tr)
  let shift = 0
  tr.changes.iterChanges((fromA, toA, fromB, toB) => {
    const start = before.offsetOf(tr.startState.doc, fromA)
    const nDeleted = before.offsetOf(tr.startState.doc, toA) - start
    const inserted = edited.textOf(tr.newDoc, fromB, toB)
    if (nDeleted > 0) text.delete(start + shift, nDeleted)
    if (inserted !== '') text.insert(start + shift, inserted)
    shift += inserted.length - nDeleted
  })
  for (const line of repaired) {
    text.insert(after.offsetOf(tr.newDoc, tr.newDoc.line(line).to) + 1, '\n')
  }
}

interface SharedChange {
  from: number
  to: number
  insert: string
}

/** Returns the changes of an event, in offsets of the text before it. */
function sharedChanges(delta: Y.YTextEvent['delta']): SharedChange[] {
  const changes: SharedChange[] = []
  let offset = 0
  let last: SharedChange | null = null
  for (const { retain, insert, delete: nDeleted } of delta) {
    if (retain !== undefined) {
      offset += retain
      last = null
      continue
    }
    if (last === null) changes.push((last = { from: offset, to: offset, insert: '' }))
    if (insert !== undefined) last.insert += stringOf(insert)
    if (nDeleted !== undefined) last.to = offset += nDeleted
  }
  return changes
}

/** Reads single units of the text that the editor stands for. */
class SharedReader {
  constructor(
    private readonly ends: LineEnds,
    private readonly doc: Text,
  ) {}

  positionOf(offset: number): { position: number; isInEnd: boolean } {
    return this.ends.positionOf(this.doc, offset)
  }

  unitAt(offset: number): string {
    if (offset < 0 || offset >= this.ends.lengthOf(this.doc)) return ''
    const { position, isInEnd } = this.positionOf(offset)
    if (isInEnd) return '\n'
    const line = this.doc.lineAt(position)
    if (position < line.to) return line.text[position - line.from]!
    return this.ends.at(line.number - 1)![0]!
  }
}

/** Makes a change cover whole line ends and characters, of the text before it and the one after. */
function coverWhole({ from, to, insert }: SharedChange, reader: SharedReader): SharedChange {
  const before = reader.unitAt(from - 1)
  const after = reader.unitAt(to)
  const [first, last] = [reader.unitAt(from), reader.unitAt(to - 1)]
  const isEndBefore = first === '\n' || (insert[0] ?? after) === '\n'
  const isEndAfter = last === '\r' || (insert.at(-1) ?? before) === '\r'
  const isSplitBefore = isHigh(before) && isLow(first)
  const isSplitAfter = isHigh(last) && isLow(after)
  const start = isSplitBefore ? REPLACEMENT : before === '\r' && isEndBefore ? before : ''
  const end = isSplitAfter ? REPLACEMENT : after === '\n' && isEndAfter ? after : ''
  return { from: from - start.length, to: to + end.length, insert: start + insert + end }
}

/** Returns the transaction of the editor that does what an event did to the shared text. */
export function editorChanges(
  delta: Y.YTextEvent['delta'],
  ends: LineEnds,
  doc: Text,
): { changes: ChangeSpec[]; ends: LineEnd[] } {
  const reader = new SharedReader(ends, doc)
  const changes: ChangeSpec[] = []
  const inserted: LineEnd[] = []
  for (const change of joinTouching(sharedChanges(delta).map((one) => coverWhole(one, reader)))) {
    const { insert } = change
    changes.push({
      from: reader.positionOf(change.from).position,
      to: reader.positionOf(change.to).position,
      insert,
    })
    inserted.push(...lineEndsOf(insert))
  }
  return { changes, ends: inserted }
}

/** Joins changes that meet. */
function joinTouching(changes: SharedChange[]): SharedChange[] {
  const joined: SharedChange[] = []
  for (const change of changes) {
    const last = joined.at(-1)
    if (last === undefined || last.to < change.from) joined.push(change)
    else {
      last.insert += change.insert
      last.to = change.to
    }
  }
  return joined
}
