// The heights of the blocks of a document, as far as they were measured.

/** The height of a block before any was measured, in pixels. */
const USUAL_HEIGHT = 40

export class BlockHeights {
  /** The distances from the tops of blocks to those of the next ones. */
  private known = new WeakMap<Element, number>()
  private sum = 0
  private nKnown = 0

  /** Forgets what was measured at another width. */
  clear(): void {
    this.known = new WeakMap()
    this.sum = this.nKnown = 0
  }

  /** Measures the blocks from one to another, which are all in the layout. */
  measure(blocks: HTMLCollection, first: number, last: number): void {
    let top = blocks[first]!.getBoundingClientRect().top
    for (let n = first; n < last; n++) {
      const next = blocks[n + 1]!.getBoundingClientRect().top
      this.set(blocks[n]!, next - top)
      top = next
    }
  }

  /** Returns the height of a block; the mean of the others if it was not measured. */
  of(block: Element): number {
    return this.known.get(block) ?? (this.nKnown === 0 ? USUAL_HEIGHT : this.sum / this.nKnown)
  }

  /** Returns the height of the blocks from one to before another. */
  between(blocks: HTMLCollection, from: number, to: number): number {
    let height = 0
    for (let n = from; n < to; n++) height += this.of(blocks[n]!)
    return height
  }

  private set(block: Element, height: number): void {
    const before = this.known.get(block)
    if (before === undefined) this.nKnown += 1
    this.sum += height - (before ?? 0)
    this.known.set(block, height)
  }
}
