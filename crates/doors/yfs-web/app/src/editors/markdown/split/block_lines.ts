// Which line of the source begins which block of the rich text: both are read in their order, and
// blocks with the same first letters are the same.

import { ensureSyntaxTree, syntaxTree } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'
import { diffArrays } from 'diff'
import type { Node } from 'prosemirror-model'

/** A block in both forms. */
export interface BlockLine {
  /** The place before the block in the document. */
  place: number
  /** The offset of its first line in the source. */
  offset: number
}

/** How many letters tell blocks apart, and of how much text they are taken. */
const KEY_LENGTH = 24
const KEY_SOURCE = 200
const MAX_EDITS = 2000
/** How long the source is parsed at once, in ms. */
const PARSE_MS = 50
const LEAVES =
  /^(?:Paragraph|Task|ATXHeading\d|SetextHeading\d|FencedCode|CodeBlock|HTMLBlock|Table)$/

const keyOf = (text: string) =>
  text
    .slice(0, KEY_SOURCE)
    .replace(/\]\([^)]*\)|\]\[[^\]]*\]/g, '')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .slice(0, KEY_LENGTH)

interface KeyedBlock {
  key: string
  at: number
}

function richBlocks(doc: Node): KeyedBlock[] {
  const blocks: KeyedBlock[] = []
  doc.descendants((node, at) => {
    const isTable = node.type.name === 'table'
    if (!node.isTextblock && !isTable) return true
    blocks.push({ key: keyOf(node.textBetween(0, node.content.size, ' ', ' ')), at })
    return false
  })
  return blocks
}

/** Returns where the front matter of a source ends. */
function frontMatterEnd(source: string): number {
  return /^---\r?\n[^]*?\n(?:---|\.\.\.)[ \t]*(?:\n|$)/.exec(source)?.[0].length ?? 0
}

function sourceBlocks(state: EditorState): KeyedBlock[] {
  const { doc } = state
  const tree = ensureSyntaxTree(state, doc.length, PARSE_MS) ?? syntaxTree(state)
  const start = frontMatterEnd(doc.sliceString(0, 20_000))
  const blocks: KeyedBlock[] = []
  tree.iterate({
    from: start,
    enter: ({ name, from, to }) => {
      if (!LEAVES.test(name)) return true
      if (from < start) return false
      const text = doc.sliceString(from, Math.min(to, from + KEY_SOURCE))
      // The line of a fence is not part of the code.
      blocks.push({
        key: keyOf(name === 'FencedCode' ? text.replace(/^.*\n/, '') : text),
        at: from,
      })
      return false
    },
  })
  return blocks
}

/** Returns the blocks that both forms have, in their order. */
export function blockLines(doc: Node, state: EditorState): BlockLine[] {
  const [rich, source] = [richBlocks(doc), sourceBlocks(state)]
  const keys = (blocks: KeyedBlock[]) => blocks.map(({ key }) => key)
  const parts = diffArrays(keys(rich), keys(source), { maxEditLength: MAX_EDITS }) ?? []
  const lines: BlockLine[] = []
  let [a, b] = [0, 0]
  for (const { added, removed, count } of parts) {
    if (added) b += count
    else if (removed) a += count
    else {
      for (let n = 0; n < count; n++) {
        lines.push({ place: rich[a + n]!.at, offset: source[b + n]!.at })
      }
      a += count
      b += count
    }
  }
  return lines
}
