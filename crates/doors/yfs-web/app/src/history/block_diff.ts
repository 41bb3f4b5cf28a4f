// The difference of two markdown texts by blocks: paragraphs, headings, items, code, and the words
// that changed in them.

import { diffArrays, diffWordsWithSpace } from 'diff'
import type { DiffPart } from './text_diff'

export type BlockForm = 'text' | 'heading' | 'item' | 'quote' | 'code' | 'table'

export interface BlockRow {
  kind: 'same' | 'added' | 'removed' | 'changed' | 'skipped'
  form: BlockForm
  /** The level of a heading. */
  level: number
  parts: DiffPart[]
}

interface Block {
  form: BlockForm
  level: number
  text: string
}

const HEADING = /^(#{1,6})\s+/
const ITEM = /^\s*(?:[-*+]|\d+[.)])\s+/
const FENCE = /^\s*(```|~~~)/
/** Blocks longer than this are compared as a whole. */
const MAX_WORD_DIFF = 6000
/** Unchanged blocks that are shown around a change. */
const CONTEXT = 1

function formOf(line: string): { form: BlockForm; level: number } {
  const heading = HEADING.exec(line)
  if (heading !== null) return { form: 'heading', level: heading[1]!.length }
  if (ITEM.test(line)) return { form: 'item', level: 0 }
  if (line.startsWith('>')) return { form: 'quote', level: 0 }
  return { form: line.startsWith('|') ? 'table' : 'text', level: 0 }
}

/** Divides a text into its blocks. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = []
  let open: Block | null = null
  let fence: string | null = null
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1]
    if (fence !== null) {
      open!.text += `\n${line}`
      if (mark === fence) fence = open = null
    } else if (mark !== undefined) {
      fence = mark
      open = { form: 'code', level: 0, text: line }
      blocks.push(open)
    } else if (line.trim() === '') open = null
    else {
      const { form, level }: { form: BlockForm; level: number } = formOf(line)
      const goesOn: boolean =
        open !== null && (form === open.form ? form !== 'item' : form === 'text') && level === 0
      if (open !== null && goesOn && open.form !== 'heading') open.text += `\n${line}`
      else {
        open = { form, level, text: line.replace(HEADING, '') }
        blocks.push(open)
      }
    }
  }
  return blocks
}

const keyOf = ({ form, level, text }: Block) => `${form} ${level} ${text}`

function rowOf(block: Block, kind: BlockRow['kind'], parts?: DiffPart[]): BlockRow {
  const whole = [{ text: block.text, isChanged: false }]
  return { kind, form: block.form, level: block.level, parts: parts ?? whole }
}

/** Returns the words of both sides of a block, in one text. */
function changedParts(before: string, after: string): DiffPart[] {
  if (before.length + after.length > MAX_WORD_DIFF) {
    return [
      { text: before, isChanged: true, isGone: true },
      { text: after, isChanged: true },
    ]
  }
  return diffWordsWithSpace(before, after).map(({ value, added, removed }) => ({
    text: value,
    isChanged: added || removed,
    isGone: removed,
  }))
}

/** Returns the rows of the difference, without the unchanged blocks far from changes. */
export function diffBlocks(before: string, after: string): BlockRow[] {
  const [old, now] = [blocksOf(before), blocksOf(after)]
  const changes = diffArrays(old, now, { comparator: (a, b) => keyOf(a) === keyOf(b) })
  const rows: BlockRow[] = []
  for (let n = 0; n < changes.length; n++) {
    const change = changes[n]!
    const next = changes[n + 1]
    if (!change.added && !change.removed) {
      rows.push(...change.value.map((block) => rowOf(block, 'same')))
    } else if (change.removed && next?.added === true) {
      n += 1
      const nBoth = Math.min(change.value.length, next.value.length)
      change.value.forEach((block, index) => {
        const other = next.value[index]
        if (other === undefined) rows.push(rowOf(block, 'removed'))
        else rows.push(rowOf(other, 'changed', changedParts(block.text, other.text)))
      })
      rows.push(...next.value.slice(nBoth).map((block) => rowOf(block, 'added')))
    } else {
      const kind = change.added ? 'added' : 'removed'
      rows.push(...change.value.map((block) => rowOf(block, kind)))
    }
  }
  return nearChanges(rows)
}

function nearChanges(rows: BlockRow[]): BlockRow[] {
  const isNear = (at: number) =>
    rows.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ kind }) => kind !== 'same')
  const shown: BlockRow[] = []
  rows.forEach((row, at) => {
    if (isNear(at)) shown.push(row)
    else if (shown.at(-1)?.kind !== 'skipped') {
      shown.push({ kind: 'skipped', form: 'text', level: 0, parts: [] })
    }
  })
  return shown
}
