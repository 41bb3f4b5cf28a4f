// What a person can undo when the content of a file moves to the other root.

import * as Y from 'yjs'
import type { ContentRoot } from '../../documents/content_root'
import { formerText, rootOf, type SharedSelection } from './carry_caret'
import { OffsetMap } from './map_offset'
import { RootText } from './root_text'

interface ItemRange {
  clock: number
  len: number
}

interface ItemSet {
  clients: Map<number, ItemRange[]>
}

/** A step of a `Y.UndoManager`. */
export interface UndoStep {
  insertions: ItemSet
  deletions: ItemSet
  meta: Map<unknown, unknown>
}

/** How many of the latest steps are carried over. */
const MAX_STEPS = 64

/**
 * Gives an undo manager the latest steps of the one of the former root that only typed text, with
 * the items that the text has now. A step that did anything else ends it: undo must not skip one.
 */
export function carryUndo(
  manager: Y.UndoManager,
  former: SharedSelection,
  root: ContentRoot,
): void {
  const steps = former.undoStack ?? []
  if (steps.length === 0 || former.root === root) return
  const { doc } = manager
  const present = new RootText(rootOf(doc, root))
  const carrier = new UndoCarrier(formerText(doc, former.root), present, doc)
  const carried: UndoStep[] = []
  for (const step of steps.slice(-MAX_STEPS).reverse()) {
    const same = carrier.carry(step)
    if (same === null) break
    // What is late altogether comes with the caret.
    if (same.insertions.clients.size > 0) carried.unshift(same)
  }
  manager.undoStack.unshift(...(carried as never[]))
}

class UndoCarrier {
  private readonly places: OffsetMap

  constructor(
    private readonly from: RootText,
    private readonly to: RootText,
    private readonly doc: Y.Doc,
  ) {
    this.places = new OffsetMap(from.settled(0).text, to.text)
  }

  /** Returns a step that takes the same text from the other root; null if there is none. */
  carry(step: UndoStep): UndoStep | null {
    if (!this.isTyping(step)) return null
    const insertions: ItemSet = { clients: new Map() }
    for (const { from, to } of this.rangesOf(step.insertions)) {
      const [start, end] = [from, to].map((at) => this.places.map(this.from.settled(at).offset))
      const text = this.from.text.slice(from, to)
      const there = this.to.text.slice(start!.offset, end!.offset)
      if (there !== text && there !== text.trimEnd()) return null
      if (/[\r\n]/.test(text)) return null
      this.addItems(insertions, start!.offset, end!.offset)
    }
    const sorted = Y.mergeDeleteSets([insertions as never]) as ItemSet
    return { insertions: sorted, deletions: { clients: new Map() }, meta: new Map() }
  }

  /** Reports whether a step only inserted text, and deleted at most what it had inserted. */
  private isTyping({ insertions, deletions }: UndoStep): boolean {
    for (const [client, ranges] of deletions.clients) {
      const own = insertions.clients.get(client) ?? []
      const isOwn = ({ clock, len }: ItemRange) =>
        own.some((one) => one.clock <= clock && clock + len <= one.clock + one.len)
      if (!ranges.every(isOwn)) return false
    }
    for (const [client, ranges] of insertions.clients) {
      const structs = this.doc.store.clients.get(client) ?? []
      const isIn = ({ id, length }: { id: Y.ID; length: number }) =>
        ranges.some(({ clock, len }) => id.clock < clock + len && clock < id.clock + length)
      for (const struct of structs) {
        if (isIn(struct) && !struct.deleted && !isString(struct)) return false
      }
    }
    return true
  }

  /** Returns the ranges of the former text that have items of a set, joined where they meet. */
  private rangesOf(items: ItemSet): { from: number; to: number }[] {
    const ranges: { from: number; to: number }[] = []
    for (const { offset, client, clock, length } of this.from.runs) {
      for (const range of items.clients.get(client) ?? []) {
        const start = Math.max(clock, range.clock)
        const end = Math.min(clock + length, range.clock + range.len)
        if (start >= end) continue
        const [from, to] = [offset + start - clock, offset + end - clock]
        const last = ranges.at(-1)
        if (last?.to === from) last.to = to
        else ranges.push({ from, to })
      }
    }
    return ranges
  }

  private addItems({ clients }: ItemSet, from: number, to: number): void {
    for (const { offset, client, clock, length } of this.to.runs) {
      const start = Math.max(offset, from)
      const end = Math.min(offset + length, to)
      if (start >= end) continue
      const known = clients.get(client) ?? []
      known.push({ clock: clock + start - offset, len: end - start })
      clients.set(client, known)
    }
  }
}

const isString = (struct: object) =>
  struct instanceof Y.Item && struct.content instanceof Y.ContentString
