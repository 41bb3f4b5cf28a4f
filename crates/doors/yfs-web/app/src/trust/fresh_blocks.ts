// The blocks and lines that others have just changed, tinted for a few seconds. They are painted as
// a highlight of CSS: the elements of an editor stay as the editor made them.

import type { OpenDocument } from '../documents'
import './fresh_blocks.css'

const NAME = 'yfs-fresh'
const SHOWN_MS = 5000
/** Whole documents that arrive at once are no news. */
const MAX_BLOCKS = 200

/** Returns the block or line of an editor that contains a node. */
function blockOf(node: Node): Element | null {
  const element = node instanceof Element ? node : node.parentElement
  if (element === null || element.closest('.remote-cursor, .cm-gutters') !== null) return null
  return element.closest('.cm-line') ?? element.closest('.ProseMirror > *')
}

/** Collects the blocks that updates of others change. */
export class FreshBlocks {
  private readonly observer: MutationObserver
  private readonly blocks = new Set<Element>()
  private isRemote = false
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly document: OpenDocument,
    content: HTMLElement,
  ) {
    this.observer = new MutationObserver((records) => this.add(records))
    this.observer.observe(content, { childList: true, characterData: true, subtree: true })
    document.doc.on('beforeTransaction', this.begin)
    document.doc.on('afterTransaction', this.end)
  }

  private readonly begin = ({ local }: { local: boolean }) => {
    if (local) return
    this.observer.takeRecords()
    this.isRemote = true
  }

  private readonly end = ({ local }: { local: boolean }) => {
    if (local) return
    this.add(this.observer.takeRecords())
    // Some editors draw in the next frame.
    requestAnimationFrame(() => {
      this.add(this.observer.takeRecords())
      this.isRemote = false
    })
  }

  private add(records: MutationRecord[]): void {
    if (!this.isRemote) return
    for (const { target, addedNodes } of records) {
      for (const node of [target, ...addedNodes]) {
        const block = blockOf(node)
        if (block !== null) this.blocks.add(block)
      }
    }
  }

  /** Forgets what was collected. */
  clear(): void {
    this.blocks.clear()
  }

  /** Tints what was collected. */
  show(): void {
    const blocks = [...this.blocks].filter((block) => block.isConnected)
    this.clear()
    if (blocks.length === 0 || blocks.length > MAX_BLOCKS || !('highlights' in CSS)) return
    const ranges = blocks.map((block) => {
      const range = new Range()
      range.selectNodeContents(block)
      return range
    })
    CSS.highlights.set(NAME, new Highlight(...ranges))
    clearTimeout(this.timer)
    this.timer = setTimeout(() => CSS.highlights.delete(NAME), SHOWN_MS)
  }

  destroy(): void {
    clearTimeout(this.timer)
    this.observer.disconnect()
    this.document.doc.off('beforeTransaction', this.begin)
    this.document.doc.off('afterTransaction', this.end)
    if ('highlights' in CSS) CSS.highlights.delete(NAME)
  }
}
