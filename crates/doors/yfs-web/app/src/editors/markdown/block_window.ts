// Keeps only the blocks near the viewport of a long document in the layout: the layout of all
// blocks of 200 KB takes longer than a key may.
//
// The blocks stay in the page, so the editor's map between the document and the page holds. A style
// sheet hides those that are far, by their number, and padding takes their place. (Attributes would
// be changes of the page, which the editor takes back.) A search of the browser and a printer get
// all blocks: the browser then lays out each that comes into the viewport, but only in a later
// frame. In a block without a layout, a click puts the cursor to the start, and `End` does not move
// it. So what is near the viewport is laid out before the browser handles a click or a key.

import { Plugin, Selection, TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { BlockHeights } from './block_heights'

/** Documents with more blocks than this are long. */
const LONG_DOCUMENT = 300

/** What is shown on both sides of the viewport after a move, in heights of the viewport. */
const SHOWN = 2

/** What must be shown on both sides, else the range moves. */
const NEEDED = 1

const OUT_OF_SIGHT = 'position: absolute; clip-path: inset(50%); pointer-events: none;'
const ON_DEMAND = 'content-visibility: auto; contain-intrinsic-size: auto 2.5em;'

let nWindows = 0

/** The blocks from `first` to `last`, counted from 0. */
interface Range {
  first: number
  last: number
}

const isIn = ({ first, last }: Range, block: number) => first <= block && block <= last

class BlockWindow {
  private readonly editor: string
  private readonly sheet = new CSSStyleSheet()
  private readonly heights = new BlockHeights()
  private readonly resized = new ResizeObserver(() => this.onResize())
  /** The range that is shown, and the blocks at its ends; null: all are shown. */
  private range: Range | null = null
  private edges: [Element, Element] | null = null
  /** The blocks with the ends of the selection, if they are not in the range. */
  private kept: number[] = []
  /** The height of what is hidden above the range, in pixels. */
  private above = 0
  private needsAll = false
  /** While all is shown: the blocks that are laid out at once, and the one with the cursor. */
  private laidOut: { near: Range; cursor: number } | null = null
  private width = 0
  private height = 0
  private isScrolled = false

  constructor(
    private readonly view: EditorView,
    private readonly scroller: HTMLElement,
  ) {
    nWindows += 1
    scroller.dataset['blockWindow'] = String(nWindows)
    this.editor = `[data-block-window="${nWindows}"] .ProseMirror`
    document.adoptedStyleSheets.push(this.sheet)
    this.height = scroller.clientHeight
    this.resized.observe(scroller)
    scroller.addEventListener('scroll', this.onScroll, { passive: true })
    scroller.addEventListener('mousedown', this.onMouseDown, true)
    window.addEventListener('keydown', this.onKey, true)
    window.addEventListener('beforeprint', this.showAll)
    window.addEventListener('afterprint', this.showNear)
    this.update()
  }

  destroy(): void {
    this.resized.disconnect()
    this.scroller.removeEventListener('scroll', this.onScroll)
    this.scroller.removeEventListener('mousedown', this.onMouseDown, true)
    window.removeEventListener('keydown', this.onKey, true)
    window.removeEventListener('beforeprint', this.showAll)
    window.removeEventListener('afterprint', this.showNear)
    const others = document.adoptedStyleSheets.filter((sheet) => sheet !== this.sheet)
    document.adoptedStyleSheets = others
  }

  get isLong(): boolean {
    return this.view.state.doc.childCount > LONG_DOCUMENT
  }

  /** After a transaction. */
  update(): void {
    if (!this.isLong || this.needsAll) {
      if (this.range !== null) this.showEverything()
    } else if (this.range !== null) {
      this.follow()
    } else if (this.isScrolled) {
      this.arrange()
    } else if (this.height > 0) {
      // The document was just filled: its layout is not known, and must not be asked for.
      this.setRange(this.near(0, this.height))
    }
  }

  /** Shows the block with the cursor, if it is far. */
  showSelection(): void {
    if (this.range === null) return
    const block = this.blockAt(this.view.state.selection.head)
    if (block === -1 || isIn(this.range, block)) return
    const { children } = this.view.dom
    const top = this.heights.between(children, 0, block)
    this.setRange(this.near(top, top))
    const place = children[block]!.getBoundingClientRect()
    const viewTop = this.scroller.getBoundingClientRect().top
    this.scroller.scrollTop += place.top - viewTop - this.height / 3
  }

  /** After the user began to type again. */
  readonly showNear = (): void => {
    if (!this.needsAll) return
    this.needsAll = false
    this.laidOut = null
    if (this.isLong) this.arrange()
  }

  private readonly showAll = (): void => {
    if (this.needsAll || !this.isLong) return
    this.needsAll = true
    this.showEverything()
  }

  private readonly onKey = (event: KeyboardEvent): void => {
    const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === 'f'
    if (isFind || event.key === 'F3') this.showAll()
    else this.layOutNear(null)
  }

  private readonly onMouseDown = ({ target }: MouseEvent): void => {
    let node = target instanceof Node ? target : null
    while (node !== null && node.parentNode !== this.view.dom) node = node.parentNode
    this.layOutNear(node instanceof Element ? node : null)
  }

  private readonly onScroll = (): void => {
    this.isScrolled = this.scroller.scrollTop > 0
    this.arrange()
    this.layOutNear(null)
  }

  private onResize(): void {
    const { clientWidth, clientHeight } = this.scroller
    if (clientWidth !== this.width) this.heights.clear()
    this.width = clientWidth
    this.height = clientHeight
    this.arrange()
  }

  /** Moves the range if the viewport came near to its ends. */
  private arrange(): void {
    if (!this.isLong || this.needsAll || this.height === 0) return
    const dom = this.view.dom.getBoundingClientRect()
    const from = this.scroller.getBoundingClientRect().top - dom.top
    const to = from + this.height
    if (this.range !== null && this.covers(this.range, from, to, dom.top)) return
    this.moveTo(this.near(from, to))
  }

  /** Reports whether enough is shown around a part of the document, in pixels of the page. */
  private covers({ first, last }: Range, from: number, to: number, domTop: number): boolean {
    const { children } = this.view.dom
    this.heights.measure(children, first, last)
    const needed = NEEDED * this.height
    const top = children[first]!.getBoundingClientRect().top - domTop
    const bottom = children[last]!.getBoundingClientRect().bottom - domTop
    const isEnd = last === children.length - 1
    return (first === 0 || top <= from - needed) && (isEnd || bottom >= to + needed)
  }

  /** Returns the blocks around a part of the document, which is given in pixels. */
  private near(from: number, to: number): Range {
    const { children } = this.view.dom
    const margin = SHOWN * this.height
    const end = children.length - 1
    const range = { first: 0, last: end }
    let top = 0
    for (let n = 0; n <= end; n++) {
      if (top > to + margin) {
        range.last = n - 1
        break
      }
      top += this.heights.of(children[n]!)
      if (top < from - margin) range.first = Math.min(n + 1, end)
    }
    return range
  }

  /** Shows a range. What is in the viewport before and after stays where it is. */
  private moveTo(range: Range): void {
    this.keepPlace(range, () => this.setRange(range))
  }

  private showEverything(): void {
    const all = { first: 0, last: this.view.dom.children.length - 1 }
    this.keepPlace(all, () => {
      this.range = this.edges = this.laidOut = null
      this.kept = []
      this.sheet.replaceSync(this.needsAll ? `${this.editor} > * { ${ON_DEMAND} }` : '')
    })
    this.layOutNear(null)
  }

  /**
   * While all is shown, lays out the blocks near the viewport and the one with the cursor now. The
   * given block, or else the first one in the viewport, stays where it is.
   */
  private layOutNear(anchor: Element | null): void {
    if (!this.needsAll || !this.isLong || this.height === 0) return
    const { children } = this.view.dom
    const { top } = this.scroller.getBoundingClientRect()
    const around = (margin: number) => ({
      first: this.firstBelow(top - margin),
      last: this.firstBelow(top + this.height + margin),
    })
    const shown = around(0)
    const cursor = this.blockAt(this.view.state.selection.head)
    const isKnown = (block: number) => this.laidOut !== null && isIn(this.laidOut.near, block)
    const hasCursor = cursor === -1 || isKnown(cursor) || this.laidOut?.cursor === cursor
    if (isKnown(shown.first) && isKnown(shown.last) && hasCursor) return
    const near = around(SHOWN * this.height)
    const rules = [`:nth-child(n + ${near.first + 1}):nth-child(-n + ${near.last + 1})`]
    if (cursor !== -1) rules.push(`:nth-child(${cursor + 1})`)
    const fixed = anchor ?? children[shown.first]!
    const before = fixed.getBoundingClientRect().top
    this.sheet.replaceSync(
      `${this.editor} > * { ${ON_DEMAND} }
      ${this.editor} > :is(${rules.join()}) { content-visibility: visible; }`,
    )
    this.laidOut = { near, cursor }
    const moved = fixed.getBoundingClientRect().top - before
    if (Math.abs(moved) >= 0.5) this.scroller.scrollTop += moved
  }

  /** Returns the first block that ends below a place of the window, else the last one. */
  private firstBelow(y: number): number {
    const { children } = this.view.dom
    let [first, last] = [0, children.length - 1]
    while (first < last) {
      const middle = (first + last) >> 1
      if (children[middle]!.getBoundingClientRect().bottom > y) last = middle
      else first = middle + 1
    }
    return first
  }

  private keepPlace(next: Range, change: () => void): void {
    const { children } = this.view.dom
    const shown = this.range ?? next
    const viewTop = this.scroller.getBoundingClientRect().top
    let anchor: Element | null = null
    let before = 0
    const last = Math.min(shown.last, next.last)
    for (let n = Math.max(shown.first, next.first); n <= last && anchor === null; n++) {
      const place = children[n]!.getBoundingClientRect()
      if (place.bottom <= viewTop) continue
      anchor = children[n]!
      before = place.top
    }
    change()
    if (anchor === null) return
    const moved = anchor.getBoundingClientRect().top - before
    if (Math.abs(moved) >= 0.5) this.scroller.scrollTop += moved
  }

  private setRange(range: Range): void {
    const { children } = this.view.dom
    this.range = range
    this.edges = [children[range.first]!, children[range.last]!]
    this.kept = this.selected(range)
    this.write(range)
  }

  /** Finds the range again if blocks were added or removed, and the selection. */
  private follow(): void {
    const { children } = this.view.dom
    const [first, last] = this.edges!
    if (children[this.range!.first] === first && children[this.range!.last] === last) {
      const kept = this.selected(this.range!)
      if (String(kept) === String(this.kept)) return
      this.kept = kept
      return this.write(this.range!)
    }
    const blocks = [...children]
    const range = { first: blocks.indexOf(first), last: blocks.indexOf(last) }
    if (range.first === -1 || range.last < range.first) {
      this.range = null
      return this.arrange()
    }
    const { above } = this
    this.setRange(range)
    if (this.above !== above) this.scroller.scrollTop += this.above - above
    this.arrange()
  }

  /** Returns the blocks with the ends of the selection: the browser types only in the layout. */
  private selected(range: Range): number[] {
    const { anchor, head } = this.view.state.selection
    const blocks = (anchor === head ? [head] : [anchor, head]).map((at) => this.blockAt(at))
    return blocks.filter((block) => block !== -1 && !isIn(range, block))
  }

  /** Returns the number of the block around a position; -1 without one. */
  private blockAt(position: number): number {
    const $at = this.view.state.doc.resolve(position)
    if ($at.depth === 0) return -1
    const block = this.view.nodeDOM($at.before(1))
    const { children } = this.view.dom
    const { first, last } = this.range ?? { first: 0, last: -1 }
    for (let n = first; n <= last; n++) if (children[n] === block) return n
    return [...children].indexOf(block as Element)
  }

  private write({ first, last }: Range): void {
    const { children } = this.view.dom
    this.above = this.heights.between(children, 0, first)
    const below = this.heights.between(children, last + 1, children.length)
    const shown = `:nth-child(n + ${first + 1}):nth-child(-n + ${last + 1})`
    const kept = this.kept.map((n) => `:nth-child(${n + 1})`)
    const far = [shown, ...kept].map((condition) => `:not(${condition})`).join('')
    const rules = [
      `${this.editor} { padding-block: ${this.above}px ${below}px; }`,
      `${this.editor} > ${far} { display: none; }`,
      ...kept.map((condition) => `${this.editor} > ${condition} { ${OUT_OF_SIGHT} }`),
    ]
    this.sheet.replaceSync(rules.join('\n'))
  }
}

/** Returns which end of the document a key goes to, if any. */
function endOf({ ctrlKey, metaKey, altKey, key }: KeyboardEvent): 'start' | 'end' | null {
  if (altKey || !(ctrlKey || metaKey)) return null
  if (key === 'End' || (metaKey && key === 'ArrowDown')) return 'end'
  return key === 'Home' || (metaKey && key === 'ArrowUp') ? 'start' : null
}

/** The browser's own keys would stop at the ends of what is shown. */
function goToEnd(view: EditorView, event: KeyboardEvent): boolean {
  const end = endOf(event)
  if (end === null) return false
  const { doc, selection, tr } = view.state
  const place = end === 'end' ? Selection.atEnd(doc) : Selection.atStart(doc)
  const chosen = event.shiftKey ? TextSelection.between(selection.$anchor, place.$head) : place
  view.dispatch(tr.setSelection(chosen).scrollIntoView())
  return true
}

/** Keeps only what is near in the layout while a document is long. */
export function blockWindow(scroller: HTMLElement): Plugin {
  let blocks: BlockWindow | null = null
  return new Plugin({
    view: (view) => {
      const made = new BlockWindow(view, scroller)
      blocks = made
      return { update: () => made.update(), destroy: () => made.destroy() }
    },
    props: {
      handleScrollToSelection: () => {
        blocks?.showSelection()
        return false
      },
      handleKeyDown: (view, event) => blocks?.isLong === true && goToEnd(view, event),
      handleDOMEvents: {
        beforeinput: () => {
          blocks?.showNear()
          return false
        },
      },
    },
  })
}
