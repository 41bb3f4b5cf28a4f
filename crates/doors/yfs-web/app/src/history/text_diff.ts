// The difference of two texts: lines, and the words that changed inside them.

import { diffLines, diffWordsWithSpace } from 'diff'

export interface DiffPart {
  text: string
  isChanged: boolean
  /** Whether it is of the old side, where both sides are shown in one row. */
  isGone?: boolean
}

export interface DiffRow {
  kind: 'same' | 'added' | 'removed' | 'skipped'
  /** Line numbers in the old and in the new text. */
  oldLine: number | null
  newLine: number | null
  parts: DiffPart[]
}

/** Unchanged lines that are shown around a change. */
const CONTEXT = 3
/** Lines longer than this are compared as a whole. */
const MAX_WORD_DIFF = 2000
/** The greatest number of edits that are looked for. */
const MAX_EDITS = 20_000

const linesOf = (text: string): string[] => {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function pairParts(removed: string, added: string): [DiffPart[], DiffPart[]] {
  if (removed.length + added.length > MAX_WORD_DIFF) {
    return [[{ text: removed, isChanged: true }], [{ text: added, isChanged: true }]]
  }
  const changes = diffWordsWithSpace(removed, added)
  const side = (skip: 'added' | 'removed') =>
    changes
      .filter((change) => !change[skip])
      .map(({ value, added: isAdded, removed: isRemoved }) => ({
        text: value,
        isChanged: Boolean(isAdded || isRemoved),
      }))
  return [side('added'), side('removed')]
}

/** Returns all rows of the difference. */
function allRows(before: string, after: string): DiffRow[] {
  const changes = diffLines(before, after, { maxEditLength: MAX_EDITS }) ?? [
    { value: before, removed: true, added: false, count: 0 },
    { value: after, removed: false, added: true, count: 0 },
  ]
  const rows: DiffRow[] = []
  let [oldLine, newLine] = [1, 1]
  for (let n = 0; n < changes.length; n++) {
    const change = changes[n]!
    const next = changes[n + 1]
    if (!change.added && !change.removed) {
      for (const text of linesOf(change.value)) {
        const parts = [{ text, isChanged: false }]
        rows.push({ kind: 'same', oldLine: oldLine++, newLine: newLine++, parts })
      }
      continue
    }
    const isReplacement = change.removed && next?.added === true
    const removed = change.removed ? linesOf(change.value) : []
    const added = change.added ? linesOf(change.value) : isReplacement ? linesOf(next.value) : []
    if (isReplacement) n++
    const pairs = Array.from({ length: Math.min(removed.length, added.length) }, (_, i) =>
      pairParts(removed[i]!, added[i]!),
    )
    const whole = (text: string): DiffPart[] => [{ text, isChanged: false }]
    removed.forEach((text, i) => {
      const parts = pairs[i]?.[0] ?? whole(text)
      rows.push({ kind: 'removed', oldLine: oldLine++, newLine: null, parts })
    })
    added.forEach((text, i) => {
      const parts = pairs[i]?.[1] ?? whole(text)
      rows.push({ kind: 'added', oldLine: null, newLine: newLine++, parts })
    })
  }
  return rows
}

/** Returns the rows of the difference, without the unchanged lines far from changes. */
export function diffRows(before: string, after: string): DiffRow[] {
  const rows = allRows(before, after)
  const isNear = new Array<boolean>(rows.length).fill(false)
  rows.forEach((row, at) => {
    if (row.kind === 'same') return
    for (let n = Math.max(0, at - CONTEXT); n <= Math.min(rows.length - 1, at + CONTEXT); n++) {
      isNear[n] = true
    }
  })
  const shown: DiffRow[] = []
  for (const [at, row] of rows.entries()) {
    if (isNear[at]) shown.push(row)
    else if (shown.at(-1)?.kind !== 'skipped') {
      shown.push({ kind: 'skipped', oldLine: null, newLine: null, parts: [] })
    }
  }
  return shown
}

/** Returns the rows of both sides beside each other. */
export function pairRows(rows: DiffRow[]): [DiffRow | null, DiffRow | null][] {
  const pairs: [DiffRow | null, DiffRow | null][] = []
  for (let n = 0; n < rows.length;) {
    const row = rows[n]!
    if (row.kind === 'same' || row.kind === 'skipped') {
      pairs.push([row, row])
      n += 1
      continue
    }
    const [removed, added]: [DiffRow[], DiffRow[]] = [[], []]
    for (; n < rows.length && ['added', 'removed'].includes(rows[n]!.kind); n++) {
      if (rows[n]!.kind === 'removed') removed.push(rows[n]!)
      else added.push(rows[n]!)
    }
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push([removed[at] ?? null, added[at] ?? null])
    }
  }
  return pairs
}

/** Returns the number of the first line of the new text at which it differs; null if it does not. */
export function firstChangedLine(rows: DiffRow[]): number | null {
  const at = rows.findIndex(({ kind }) => kind === 'added' || kind === 'removed')
  if (at < 0) return null
  const later = rows.slice(at).find(({ newLine }) => newLine !== null)
  const before = rows.slice(0, at).findLast(({ newLine }) => newLine !== null)
  return later?.newLine ?? before?.newLine ?? 1
}
