// Which changes of a document the server has not stored yet.
//
// The server sends an update back when it is in its log, so everything that arrives from the server
// is durable. Local changes are remembered as clocks (inserted items) and ranges (deletions), and
// crossed out as the server's messages name them.

import * as Y from 'yjs'

interface ClockRange {
  clock: number
  end: number
}
type RangesByClient = Map<number, ClockRange[]>

/** Returns the ranges of a delete set, sorted. */
function rangesOf(clients: Map<number, { clock: number; len: number }[]>): RangesByClient {
  const ranges: RangesByClient = new Map()
  for (const [client, items] of clients) {
    const sorted = items.map(({ clock, len }) => ({ clock, end: clock + len }))
    sorted.sort((a, b) => a.clock - b.clock)
    ranges.set(client, sorted)
  }
  return ranges
}

/** Returns what is left of sorted ranges without other sorted ranges. */
function subtract(ranges: ClockRange[], taken: ClockRange[]): ClockRange[] {
  const left: ClockRange[] = []
  let first = 0
  for (const range of ranges) {
    while (first < taken.length && taken[first]!.end <= range.clock) first++
    let clock = range.clock
    for (let n = first; n < taken.length && taken[n]!.clock < range.end; n++) {
      if (taken[n]!.clock > clock) left.push({ clock, end: taken[n]!.clock })
      clock = Math.max(clock, taken[n]!.end)
    }
    if (clock < range.end) left.push({ clock, end: range.end })
  }
  return left
}

/** Returns the sorted union of ranges. */
function union(ranges: ClockRange[]): ClockRange[] {
  const sorted = [...ranges].sort((a, b) => a.clock - b.clock)
  const joined: ClockRange[] = []
  for (const range of sorted) {
    const last = joined.at(-1)
    if (last !== undefined && range.clock <= last.end) last.end = Math.max(last.end, range.end)
    else joined.push({ ...range })
  }
  return joined
}

export class UnsavedChanges {
  /** The clock that the server must reach, by client. */
  private readonly clocks = new Map<number, number>()
  private readonly ranges: RangesByClient = new Map()

  get isEmpty(): boolean {
    return this.clocks.size === 0 && this.ranges.size === 0
  }

  /** Adds a local update. */
  addUpdate(update: Uint8Array): void {
    const { to } = Y.parseUpdateMeta(update)
    for (const [client, clock] of to) this.addClock(client, clock)
    this.addRanges(rangesOf(Y.decodeUpdate(update).ds.clients))
  }

  /**
   * Adds all that a document contains: for one that was loaded from this browser's storage, where
   * changes of an earlier visit may wait.
   */
  addDocument(doc: Y.Doc): void {
    for (const [client, clock] of Y.decodeStateVector(Y.encodeStateVector(doc))) {
      this.addClock(client, clock)
    }
    this.addRanges(rangesOf(Y.createDeleteSetFromStructStore(doc.store).clients))
  }

  /** Crosses out what an update from the server contains. */
  removeUpdate(update: Uint8Array): void {
    if (this.isEmpty) return
    this.removeClocks(Y.parseUpdateMeta(update).to)
    if (this.ranges.size === 0) return
    for (const [client, taken] of rangesOf(Y.decodeUpdate(update).ds.clients)) {
      const left = subtract(this.ranges.get(client) ?? [], taken)
      if (left.length > 0) this.ranges.set(client, left)
      else this.ranges.delete(client)
    }
  }

  /** Crosses out the inserted items that the server's state contains. */
  removeClocks(server: Map<number, number>): void {
    for (const [client, clock] of server) {
      const needed = this.clocks.get(client)
      if (needed !== undefined && clock >= needed) this.clocks.delete(client)
    }
  }

  private addClock(client: number, clock: number): void {
    if (clock > 0) this.clocks.set(client, Math.max(clock, this.clocks.get(client) ?? 0))
  }

  private addRanges(added: RangesByClient): void {
    for (const [client, ranges] of added) {
      this.ranges.set(client, union([...(this.ranges.get(client) ?? []), ...ranges]))
    }
  }
}
