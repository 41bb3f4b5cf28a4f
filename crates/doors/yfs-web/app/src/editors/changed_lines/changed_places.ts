// The places at which a text differs from a base: kept while the text is edited, without comparing
// more than what is around an edit.

import { Chunk, diff } from '@codemirror/merge'
import { StateEffect, StateField, type ChangeSpec, type Text } from '@codemirror/state'
import type { EditorState, Transaction } from '@codemirror/state'

export type ChangeKind = 'added' | 'changed' | 'deleted'

/** Lines that differ. */
export interface ChangedPlace {
  kind: ChangeKind
  /** The first line that differs, from 1; of deleted lines, the one that follows them. */
  line: number
  before: string[]
  now: string[]
}

export interface Comparison {
  base: Text
  chunks: readonly Chunk[]
  /** Whether the chunks are moved only, until the texts are compared again. */
  isStale: boolean
}

/** Bounds the work for texts that have little in common, and how long it takes, in ms. */
const DIFF_OPTIONS = { scanLimit: 500, timeout: 100 }
/** A longer chunk is not compared again at each key, in UTF-16 code units of both texts. */
const LONG_CHUNK = 40_000
/** Lines that are equal at the ends of a longer chunk count as changed. */
const MAX_TRIMMED = 20_000

export const setBase = StateEffect.define<Text>()

const sizeOf = ({ fromA, toA, fromB, toB }: Chunk) => toA - fromA + toB - fromB

function compare(base: Text, doc: Text): Comparison {
  return { base, chunks: Chunk.build(base, doc, DIFF_OPTIONS), isStale: false }
}

function afterEdit(before: Comparison, { changes, newDoc }: Transaction): Comparison {
  const { base, chunks } = before
  if (!chunks.some((chunk) => sizeOf(chunk) > LONG_CHUNK)) {
    return {
      base,
      chunks: Chunk.updateB(chunks, base, newDoc, changes, DIFF_OPTIONS),
      isStale: false,
    }
  }
  const moved = chunks.map((chunk) => {
    const [from, to] = [chunk.fromB, chunk.toB].map((at) =>
      changes.mapPos(Math.min(at, changes.length), 1),
    )
    return new Chunk(chunk.changes, chunk.fromA, chunk.toA, from!, to!, false)
  })
  return { base, chunks: moved, isStale: true }
}

/** The difference between the text and its base; null before there is a base. */
export const comparison = StateField.define<Comparison | null>({
  create: () => null,
  update: (before, tr) => {
    for (const effect of tr.effects) if (effect.is(setBase)) return compare(effect.value, tr.newDoc)
    return before === null || !tr.docChanged ? before : afterEdit(before, tr)
  },
})

export const chunksOf = (state: EditorState): readonly Chunk[] =>
  state.field(comparison, false)?.chunks ?? []

function linesBetween(text: Text, from: number, to: number): string[] {
  return from === to ? [] : text.sliceString(from, Math.max(from, to - 1)).split('\n')
}

/** Returns the lines of a chunk that differ. */
export function placeOf(state: EditorState, chunk: Chunk): ChangedPlace {
  const { base } = state.field(comparison)!
  const { doc } = state
  let before = linesBetween(base, chunk.fromA, chunk.toA)
  let now = linesBetween(doc, chunk.fromB, chunk.toB)
  let line = chunk.fromB > doc.length ? doc.lines + 1 : doc.lineAt(chunk.fromB).number
  if (sizeOf(chunk) <= MAX_TRIMMED) {
    const shorter = Math.min(before.length, now.length)
    let [start, end] = [0, 0]
    while (start < shorter && before[start] === now[start]) start += 1
    while (start + end < shorter && before.at(-1 - end) === now.at(-1 - end)) end += 1
    before = before.slice(start, before.length - end)
    now = now.slice(start, now.length - end)
    line += start
  }
  return { kind: kindOf(before, now), line, before, now }
}

/** What was an empty line at the end counts as none. */
function kindOf(before: string[], now: string[]): ChangeKind {
  const isNone = (lines: string[]) => lines.every((line) => line === '') && lines.length < 2
  if (isNone(before) && now.length > 0) return 'added'
  return isNone(now) ? 'deleted' : 'changed'
}

/** Returns the range of the text that a place takes, with what it was before. */
function replacement(doc: Text, { line, before, now }: ChangedPlace) {
  const text = before.join('\n')
  if (before.length > 0 && now.length > 0) {
    return { from: doc.line(line).from, to: doc.line(line + now.length - 1).to, text }
  }
  if (now.length === 0) {
    if (line > doc.lines) return { from: doc.length, to: doc.length, text: `\n${text}` }
    const { from } = doc.line(line)
    return { from, to: from, text: `${text}\n` }
  }
  const next = line + now.length
  if (next <= doc.lines) return { from: doc.line(line).from, to: doc.line(next).from, text: '' }
  return { from: Math.max(0, doc.line(line).from - 1), to: doc.length, text: '' }
}

/** Returns the least edits that make a place what it was. */
export function takeBack(state: EditorState, place: ChangedPlace): ChangeSpec[] {
  const { from, to, text } = replacement(state.doc, place)
  return diff(state.sliceDoc(from, to), text, DIFF_OPTIONS).map(({ fromA, toA, fromB, toB }) => ({
    from: from + fromA,
    to: from + toA,
    insert: text.slice(fromB, toB),
  }))
}
