// The handle beside a block: it drags the block, and a click opens a menu.

import { ArrowDown, ArrowUp, CopyPlus, GripVertical, Link, Trash2 } from 'lucide'
import { NodeSelection, TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { makeIcon } from '../../../look/icon'
import { openMenuBelow, type MenuItems } from '../../../look/menu'
import { blockActions, showKeys } from './actions'
import { anchorPlace } from './anchors'
import { moveBlocks } from './block_keys'
import { addressOf } from '../../../session/address'
import { headingIdAt } from './outline'
import type { PopupContext } from './popups'
import { dispatchAlone } from './undo_steps'

/** How far the handle stands before the text, in CSS pixels. */
const OFFSET = 24

export class BlockHandle {
  private readonly host = document.createElement('div')
  private readonly button = document.createElement('button')
  private block: HTMLElement | null = null
  /** Returns where the block is that is dragged. */
  private dragged: (() => number) | null = null

  constructor(
    private readonly view: EditorView,
    private readonly page: HTMLElement,
    private readonly context: PopupContext,
  ) {
    this.host.className = 'block-handle'
    this.button.type = 'button'
    this.button.draggable = true
    this.button.tabIndex = -1
    this.button.setAttribute('aria-label', t('Move the block, or open its menu'))
    this.button.title = t('Drag to move, click for the menu')
    this.button.append(makeIcon(GripVertical))
    this.host.append(this.button)
    page.append(this.host)
    page.addEventListener('mousemove', this.onMove, { passive: true })
    page.addEventListener('mouseleave', this.onLeave)
    this.button.addEventListener('click', () => this.openMenu())
    this.button.addEventListener('dragstart', this.onDragStart)
    this.button.addEventListener('dragend', () => {
      this.dragged = null
      this.view.dragging = null
    })
  }

  /** A key hides it. */
  hide(): void {
    if (this.block === null) return
    this.block = null
    this.host.classList.remove('is-shown')
  }

  destroy(): void {
    this.host.remove()
    this.page.removeEventListener('mousemove', this.onMove)
    this.page.removeEventListener('mouseleave', this.onLeave)
  }

  private readonly onLeave = () => this.hide()

  private readonly onMove = ({ clientY, target, buttons }: MouseEvent) => {
    if (!this.view.editable || buttons !== 0) return
    if (target instanceof Node && this.host.contains(target)) return
    const block = this.blockAt(clientY)
    // Between two blocks, the handle stays at the one that it was at.
    if (block === this.block || block === null) return
    this.block = block
    const page = this.page.getBoundingClientRect()
    const { top, left, right } = block.getBoundingClientRect()
    const style = getComputedStyle(block)
    const lead = Math.max(0, (Number.parseFloat(style.lineHeight) || 24) - 24) / 2
    const isRtl = style.direction === 'rtl'
    const isList = block.matches('ul, ol')
    const start = isRtl ? right + OFFSET - 20 : left - OFFSET
    this.host.style.left = `${start - page.left - (isList && !isRtl ? 4 : 0)}px`
    this.host.style.top = `${top - page.top + lead}px`
    this.host.classList.add('is-shown')
  }

  /** Returns the block of the page at a height of the window. */
  private blockAt(y: number): HTMLElement | null {
    const { left, width } = this.view.dom.getBoundingClientRect()
    for (const x of [left + 20, left + width / 2]) {
      for (let found = document.elementFromPoint(x, y); found !== null;) {
        if (found.parentElement === this.view.dom) return found as HTMLElement
        found = found.parentElement
      }
    }
    return null
  }

  /** Returns where the block is in the document. */
  private place(): number | null {
    return this.block === null ? null : this.placeOf(this.block)
  }

  private placeOf(block: HTMLElement): number | null {
    if (!block.isConnected) return null
    const place = this.view.posAtDOM(block, 0)
    const $place = this.view.state.doc.resolve(place)
    return $place.depth === 0 ? place : $place.before(1)
  }

  private readonly onDragStart = (event: DragEvent) => {
    const { view } = this
    const place = this.place()
    if (place === null || event.dataTransfer === null || this.block === null) return
    const selection = NodeSelection.create(view.state.doc, place)
    view.dispatch(view.state.tr.setSelection(selection))
    const slice = selection.content()
    const { dom, text } = view.serializeForClipboard(slice)
    event.dataTransfer.clearData()
    event.dataTransfer.setData('text/html', dom.innerHTML)
    event.dataTransfer.setData('text/plain', text)
    event.dataTransfer.effectAllowed = 'copyMove'
    event.dataTransfer.setDragImage(this.block, 0, 0)
    view.dragging = { slice, move: true }
    const inside = anchorPlace(view, place + 1)
    this.dragged = () => view.state.doc.resolve(inside()).before(1)
  }

  /** Puts the block that is dragged before or after the one at the pointer. */
  handleDrop(event: DragEvent): boolean {
    const { view, dragged } = this
    const target = this.blockAt(event.clientY)
    if (dragged === null || target === null) return false
    const { top, height } = target.getBoundingClientRect()
    const from = dragged()
    const node = view.state.doc.nodeAt(from)
    const before = this.placeOf(target)
    if (node === null || before === null) return false
    const isBelow = event.clientY > top + height / 2
    const to = isBelow ? before + (view.state.doc.nodeAt(before)?.nodeSize ?? 0) : before
    if (to >= from && to <= from + node.nodeSize) return true
    const tr = view.state.tr.delete(from, from + node.nodeSize)
    const place = tr.mapping.map(to)
    tr.insert(place, node)
    const start = TextSelection.near(tr.doc.resolve(place + 1))
    dispatchAlone(view, tr.setSelection(start))
    view.focus()
    return true
  }

  private openMenu(): void {
    const { view } = this
    const place = this.place()
    const node = place === null ? null : view.state.doc.nodeAt(place)
    if (place === null || node === null) return
    const start = TextSelection.near(view.state.doc.resolve(place + 1))
    view.dispatch(view.state.tr.setSelection(start))
    const later = (run: () => void) => () => queueMicrotask(run)
    const turn = node.isTextblock || ['list', 'quote'].some((part) => node.type.name.includes(part))
    const turns: MenuItems = turn
      ? blockActions(view).map(({ label, icon, run }) => ({ label, icon, run: later(run) }))
      : []
    const end = place + node.nodeSize
    const move = (direction: -1 | 1) => later(() => moveBlock(view, place, direction))
    const items: MenuItems = [
      ...turns,
      ...(turn ? [null] : []),
      { label: t('Move up'), icon: ArrowUp, keys: showKeys('Alt+↑'), run: move(-1) },
      { label: t('Move down'), icon: ArrowDown, keys: showKeys('Alt+↓'), run: move(1) },
      {
        label: t('Duplicate'),
        icon: CopyPlus,
        run: () => dispatchAlone(view, view.state.tr.insert(end, node)),
      },
      ...this.linkItem(place, node.type.name),
      {
        label: t('Delete'),
        icon: Trash2,
        isDanger: true,
        run: () => dispatchAlone(view, view.state.tr.delete(place, end)),
      },
    ]
    openMenuBelow(this.button, t('Block'), items)
  }

  private linkItem(place: number, type: string): MenuItems {
    if (type !== 'heading') return []
    const heading = headingIdAt(this.view.state.doc, place)
    const at = heading === null || heading === undefined ? {} : { heading }
    const run = () =>
      navigator.clipboard
        .writeText(
          `${location.href.split('#')[0]}${addressOf(this.context.path(), this.context.id, at)}`,
        )
        .then(
          () => this.context.report(t('The link was copied.')),
          () => this.context.report(t('The browser did not allow to copy.')),
        )
    return [{ label: t('Copy the link to the heading'), icon: Link, run: () => void run() }]
  }
}

/** Moves a whole block of the page, also a list. */
function moveBlock(view: EditorView, place: number, direction: -1 | 1): void {
  const selection = NodeSelection.create(view.state.doc, place)
  view.dispatch(view.state.tr.setSelection(selection))
  moveBlocks(view, direction)
  view.focus()
}
