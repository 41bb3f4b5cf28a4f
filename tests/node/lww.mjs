// A plain peer of the files table: the last-writer-wins rules that the reference implementation
// follows, written down anew from their description. It knows nothing of cells, and like the
// reference it deletes the losers of every conflict that it sees.

/**
 * Folds the elements of an array, left to right, into the winner of each key.
 *
 * The comparison is JavaScript's own, on whatever `ts` holds: what is neither greater nor less is a
 * tie, and in a tie the element further right wins.
 */
export function winners(elements) {
  const byKey = new Map()
  const losers = []
  elements.forEach((element, index) => {
    if (element === null || typeof element !== 'object' || typeof element.key !== 'string') return
    const incumbent = byKey.get(element.key)
    if (incumbent !== undefined && incumbent.element.ts > element.ts) {
      losers.push(index)
    } else {
      if (incumbent !== undefined) losers.push(incumbent.index)
      byKey.set(element.key, { element, index })
    }
  })
  return { byKey, losers }
}

/** One table, attached to a root array of a document. */
export class LwwTable {
  /** Opens the table; deletes losers at once, and again after each change of another peer. */
  constructor(doc, name) {
    this.doc = doc
    this.array = doc.getArray(name)
    this.lastTs = 0
    this.sweep()
    this.array.observe(() => this.sweep())
  }

  get(key) {
    return winners(this.array.toArray()).byKey.get(key)?.element.val
  }

  set(key, val, now) {
    this.doc.transact(() => {
      this.remove(key)
      this.array.push([{ key, val, ts: this.nextTs(now) }])
    })
  }

  delete(key) {
    this.doc.transact(() => this.remove(key))
  }

  // One clock for all keys, which any peer's `ts` pushes forward: the reference has it so.
  nextTs(now) {
    this.lastTs = now > this.lastTs ? now : this.lastTs + 1
    return this.lastTs
  }

  // Deletes the first element of the key, as the reference does, not all of them.
  remove(key) {
    const index = this.array.toArray().findIndex((element) => element?.key === key)
    if (index !== -1) this.array.delete(index)
  }

  sweep() {
    const elements = this.array.toArray()
    for (const element of elements) {
      if (typeof element?.ts === 'number' && element.ts > this.lastTs) this.lastTs = element.ts
    }
    const { losers } = winners(elements)
    if (losers.length === 0) return
    this.doc.transact(() => {
      for (const index of losers.sort((a, b) => b - a)) this.array.delete(index)
    }, this)
  }
}
