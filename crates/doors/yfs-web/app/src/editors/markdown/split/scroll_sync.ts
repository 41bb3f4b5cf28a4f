// Keeps the rich text and the source beside it at the same block while one of them is scrolled.
//
// The side that a person uses leads, and only its scrolling moves the other one: what moves the
// other side, also by itself, comes back as an event of a side that does not lead.

import type { EditorView as TextView } from '@codemirror/view'
import type { Node } from 'prosemirror-model'
import type { EditorView as RichView } from 'prosemirror-view'
import { blockLines, type BlockLine } from './block_lines'

type Side = 'rich' | 'text'

const USES = ['wheel', 'pointerdown', 'touchstart', 'keydown', 'focusin'] as const
/** In how many frames a side is moved again: what is laid out then had no height before. */
const MAX_FRAMES = 4

/** Returns the last index of an ascending row whose value is at most `limit`; -1 without one. */
function lastAtMost(n: number, valueOf: (index: number) => number, limit: number): number {
  let [low, high] = [0, n]
  while (low < high) {
    const middle = (low + high) >> 1
    if (valueOf(middle) <= limit) low = middle + 1
    else high = middle
  }
  return low - 1
}

const isShown = (element: Element | undefined) => (element?.getClientRects().length ?? 0) > 0

export class ScrollSync {
  private leader: Side = 'rich'
  private lines: BlockLine[] = []
  private known: { doc: Node; text: unknown } | null = null
  private frame = 0
  private readonly stop = new AbortController()

  constructor(
    private readonly rich: RichView,
    private readonly richScroller: HTMLElement,
    private readonly text: TextView,
  ) {
    const { signal } = this.stop
    for (const [side, root] of [
      ['rich', richScroller],
      ['text', text.dom],
    ] as const) {
      for (const use of USES) {
        const lead = () => (this.leader = side)
        root.addEventListener(use, lead, { capture: true, passive: true, signal })
      }
      const scroller = this.scrollerOf(side)
      const onScroll = () => {
        if (this.leader === side) this.follow(0)
      }
      scroller.addEventListener('scroll', onScroll, { passive: true, signal })
    }
    this.follow(0)
  }

  destroy(): void {
    this.stop.abort()
    cancelAnimationFrame(this.frame)
  }

  /** Lets the source lead until a person uses a side. */
  leadByText(): void {
    this.leader = 'text'
  }

  private scrollerOf(side: Side): HTMLElement {
    return side === 'rich' ? this.richScroller : this.text.scrollDOM
  }

  private follow(nFrames: number): void {
    cancelAnimationFrame(this.frame)
    this.frame = requestAnimationFrame(() => {
      const isMoved = this.moveOther()
      if (isMoved && nFrames < MAX_FRAMES) this.follow(nFrames + 1)
    })
  }

  /** Moves the side that does not lead; reports whether it was elsewhere. */
  private moveOther(): boolean {
    this.readLines()
    const other: Side = this.leader === 'rich' ? 'text' : 'rich'
    const scroller = this.scrollerOf(other)
    const wanted = Math.round(this.placeIn(other))
    if (Math.abs(scroller.scrollTop - wanted) <= 1) return false
    scroller.scrollTop = wanted
    return true
  }

  private readLines(): void {
    const [doc, text] = [this.rich.state.doc, this.text.state.doc]
    if (this.known?.doc === doc && this.known.text === text) return
    this.known = { doc, text }
    this.lines = blockLines(doc, this.text.state)
  }

  /** Returns where the other side has what is at the upper edge of the leader. */
  private placeIn(other: Side): number {
    const { leader, lines } = this
    const top = this.scrollerOf(leader).scrollTop
    const before = lastAtMost(lines.length, (n) => this.topOf(leader, n), top)
    const [fromA, toA] = [this.topOf(leader, before), this.topOf(leader, before + 1)]
    const [fromB, toB] = [this.topOf(other, before), this.topOf(other, before + 1)]
    const share = toA > fromA ? (top - fromA) / (toA - fromA) : 0
    return fromB + Math.min(1, share) * (toB - fromB)
  }

  /** Returns where a block begins in a side: before the first its start, after the last its end. */
  private topOf(side: Side, index: number): number {
    const { scrollHeight, clientHeight } = this.scrollerOf(side)
    const end = scrollHeight - clientHeight
    if (index < 0) return 0
    const line = this.lines[index]
    if (line === undefined) return end
    const top = side === 'rich' ? this.richTop(line.place) : this.textTop(line.offset)
    return Math.max(0, Math.min(top, end))
  }

  private textTop(offset: number): number {
    const { text } = this
    return text.lineBlockAt(Math.min(offset, text.state.doc.length)).top + text.documentPadding.top
  }

  private richTop(place: number): number {
    const node = this.rich.nodeDOM(place)
    if (node instanceof Element && isShown(node)) return this.offsetOf(node).top
    return this.estimatedTop(this.rich.state.doc.resolve(place).index(0))
  }

  private offsetOf(element: Element): { top: number; bottom: number } {
    const { top, bottom } = element.getBoundingClientRect()
    const shift = this.richScroller.scrollTop - this.richScroller.getBoundingClientRect().top
    return { top: top + shift, bottom: bottom + shift }
  }

  /** Far blocks of a long document have no layout: padding stands for all of them. */
  private estimatedTop(block: number): number {
    const { dom } = this.rich
    const { children } = dom
    const whole = this.offsetOf(dom)
    const { paddingTop, paddingBottom } = getComputedStyle(dom)
    const first = lastAtMost(children.length, (n) => (isShown(children[n]) ? 1 : 0), 0) + 1
    const share = block / Math.max(1, children.length)
    if (first === children.length) return whole.top + share * (whole.bottom - whole.top)
    const above = parseFloat(paddingTop)
    if (block < first) return whole.top + (above * block) / first
    const below = parseFloat(paddingBottom)
    let last = first
    while (last + 1 < children.length && isShown(children[last + 1])) last += 1
    const rest = Math.max(1, children.length - 1 - last)
    return whole.bottom - below + (below * (block - last)) / rest
  }
}
