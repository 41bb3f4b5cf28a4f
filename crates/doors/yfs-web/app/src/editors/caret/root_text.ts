// A root of a document as plain text, with the places of its characters in Yjs.

import * as Y from 'yjs'

/** A place in a shared type: in a text, or in an element that has no text yet. */
export interface SharedPlace {
  type: Y.Text | Y.XmlElement
  index: number
}

interface TextLeaf {
  type: Y.Text | Y.XmlElement
  start: number
  length: number
}

/** Stands for what is no text: one unit, as in Yjs. */
const OBJECT = '\ufffc'
const BREAKS = new Set(['hardbreak', 'hard_break'])

/** A part of an item in the text of a root. */
interface ItemRun {
  offset: number
  client: number
  clock: number
  length: number
}

export class RootText {
  text = ''
  /** The items of the text that are not late, in its order. */
  readonly runs: ItemRun[] = []
  private readonly leaves: TextLeaf[] = []
  /** Ranges of characters that are late. */
  private readonly late: { from: number; to: number }[] = []

  constructor(
    root: Y.Text | Y.XmlFragment,
    /** Returns how many units of an item, from its first, are not late. */
    private readonly nKnown: (item: Y.Item) => number = ({ length }) => length,
  ) {
    if (root instanceof Y.XmlFragment) this.addChildren(root)
    else this.addText(root as Y.Text)
  }

  /** Returns the offset of a place; null if it is not in this root. */
  offsetOf({ type, index }: { type: unknown; index: number }): number | null {
    const leaf = this.leaves.find((one) => one.type === type)
    return leaf === undefined ? null : leaf.start + Math.min(index, leaf.length)
  }

  /** Returns the place of an offset, or the nearest one before it. */
  placeAt(offset: number): SharedPlace | null {
    let found: TextLeaf | null = null
    for (const leaf of this.leaves) {
      if (leaf.start > offset) break
      found = leaf
    }
    found ??= this.leaves[0] ?? null
    if (found === null) return null
    return { type: found.type, index: Math.max(0, Math.min(offset - found.start, found.length)) }
  }

  /** Reports whether the line of an offset has no text. */
  isBlankLine(offset: number): boolean {
    const before = this.text[offset - 1] ?? '\n'
    const after = this.text[offset] ?? '\n'
    return /[\r\n]/.test(before) && /[\r\n]/.test(after)
  }

  /** Returns where the late characters start that end at an offset, in its text. */
  lateStart(offset: number): number {
    const start = this.late.findLast(({ from, to }) => from < offset && offset <= to)?.from
    const leaf = this.placeAt(offset)
    return start === undefined || leaf === null ? offset : Math.max(start, offset - leaf.index)
  }

  /** Returns the text without late characters, and an offset in it. */
  settled(offset: number): { text: string; offset: number } {
    let text = ''
    let at = 0
    let nBefore = 0
    for (const { from, to } of this.late) {
      text += this.text.slice(at, from)
      nBefore += Math.max(0, Math.min(to, offset) - from)
      at = to
    }
    return { text: text + this.text.slice(at), offset: offset - nBefore }
  }

  private addChildren(parent: Y.XmlFragment): void {
    for (const child of parent.toArray()) {
      if (child instanceof Y.XmlText) this.addText(child)
      else if (child instanceof Y.XmlElement) this.addElement(child)
    }
  }

  private addElement(element: Y.XmlElement): void {
    if (BREAKS.has(element.nodeName)) this.text += '\n'
    else if (element.nodeName === 'image') this.text += OBJECT
    else if (element.length === 0) {
      this.leaves.push({ type: element, start: this.text.length, length: 0 })
      this.text += '\n'
    } else {
      this.addChildren(element)
      if (element.get(0) instanceof Y.XmlText) this.text += '\n'
    }
  }

  private addText(type: Y.Text): void {
    const start = this.text.length
    for (let item = type._start; item !== null; item = item.right) {
      if (item.deleted || !item.countable) continue
      const from = this.text.length
      const { content } = item
      this.text += content instanceof Y.ContentString ? content.str : OBJECT.repeat(item.length)
      const known = this.nKnown(item)
      const { client, clock } = item.id
      if (known > 0) this.runs.push({ offset: from, client, clock, length: known })
      if (known < item.length) this.addLate(from + known)
    }
    this.leaves.push({ type, start, length: this.text.length - start })
  }

  private addLate(from: number): void {
    const last = this.late.at(-1)
    if (last?.to === from) last.to = this.text.length
    else this.late.push({ from, to: this.text.length })
  }
}
