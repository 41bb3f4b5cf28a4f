// Tables: keys, a menu of the cell with the caret, and buttons that add a row or a column.

import {
  AlignCenter,
  AlignLeft,
  AlignRight,
  ArrowDown,
  ArrowLeft,
  ArrowRight,
  ArrowUp,
  BetweenHorizontalEnd,
  BetweenHorizontalStart,
  BetweenVerticalEnd,
  BetweenVerticalStart,
  Ellipsis,
  Plus,
  Trash2,
} from 'lucide'
import type { IconNode } from 'lucide'
import { TableView } from '@milkdown/kit/prose/tables'
import { Plugin, type Command } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { makeIcon } from '../../../look/icon'
import { openMenuBelow, type MenuItem, type MenuItems } from '../../../look/menu'
import { isRightToLeft } from '../../../look/place'
import type { BlockCommand } from '../rich_view'
import {
  alignColumns,
  appendRow,
  deleteColumns,
  deleteRows,
  deleteTable,
  insertColumn,
  insertRow,
  moveColumn,
  moveRow,
  tableRange,
} from './table_commands'
import { pasteCells } from './table_paste'
import './tables.css'

/** The least width of a cell, in pixels. */
const MIN_CELL_WIDTH = 48

function tableItems(view: EditorView): MenuItems {
  const item = (label: string, icon: IconNode, command: Command, more = {}): MenuItem => ({
    label,
    icon,
    isDisabled: !command(view.state),
    run: () => {
      command(view.state, view.dispatch, view)
      view.focus()
    },
    ...more,
  })
  const danger = { isDanger: true }
  // The first column of a table in a page from the right is at the right.
  const isMirrored = isRightToLeft(view.dom)
  const [left, right] = isMirrored ? (['right', 'left'] as const) : (['left', 'right'] as const)
  const [leftward, rightward] = isMirrored ? ([1, -1] as const) : ([-1, 1] as const)
  return [
    item(t('Insert row above'), BetweenHorizontalEnd, insertRow('above')),
    item(t('Insert row below'), BetweenHorizontalStart, insertRow('below')),
    item(t('Insert column left'), BetweenVerticalEnd, insertColumn(left)),
    item(t('Insert column right'), BetweenVerticalStart, insertColumn(right)),
    null,
    item(t('Move row up'), ArrowUp, moveRow(-1)),
    item(t('Move row down'), ArrowDown, moveRow(1)),
    item(t('Move column left'), ArrowLeft, moveColumn(leftward)),
    item(t('Move column right'), ArrowRight, moveColumn(rightward)),
    null,
    item(t('Align left'), AlignLeft, alignColumns('left')),
    item(t('Align center'), AlignCenter, alignColumns('center')),
    item(t('Align right'), AlignRight, alignColumns('right')),
    null,
    item(t('Delete row'), Trash2, deleteRows, danger),
    item(t('Delete column'), Trash2, deleteColumns, danger),
    item(t('Delete table'), Trash2, deleteTable, danger),
  ]
}

/** Returns what the slash menu offers in a cell. */
export function tableBlocks(): BlockCommand[] {
  const inTable = (command: Command) => (view: EditorView) =>
    tableRange(view.state) !== null && command(view.state)
  const block = (label: string, run: Command): BlockCommand => ({
    label,
    words: 'table',
    hint: '',
    run,
    isEnabled: inTable(run),
  })
  return [
    block(t('Row above'), insertRow('above')),
    block(t('Row below'), insertRow('below')),
    block(t('Column left'), insertColumn('left')),
    block(t('Column right'), insertColumn('right')),
    block(t('Align left'), alignColumns('left')),
    block(t('Align center'), alignColumns('center')),
    block(t('Align right'), alignColumns('right')),
    block(t('Delete row'), deleteRows),
    block(t('Delete column'), deleteColumns),
    block(t('Delete table'), deleteTable),
  ]
}

/** The buttons beside the table that has the caret. */
class TableTools {
  private readonly tools = document.createElement('div')
  private readonly menu = this.button('table-menu', t('Table'), Ellipsis)
  private readonly addRow = this.button('table-add-row', t('Add row'), Plus)
  private readonly addColumn = this.button('table-add-column', t('Add column'), Plus)
  private frame = 0
  private readonly resized = new ResizeObserver(() => this.update())
  private readonly onScroll = () => this.update()

  constructor(private readonly view: EditorView) {
    this.tools.className = 'table-tools'
    this.tools.hidden = true
    this.tools.append(this.menu, this.addRow, this.addColumn)
    view.dom.parentElement?.append(this.tools)
    view.dom.addEventListener('scroll', this.onScroll, true)
    this.resized.observe(view.dom)
    this.menu.ariaHasPopup = 'menu'
    this.menu.addEventListener('click', () => {
      openMenuBelow(this.menu, t('Table'), tableItems(view))
    })
    this.addRow.addEventListener('click', () => appendRow(view.state, view.dispatch, view))
    this.addColumn.addEventListener('click', () =>
      insertColumn('end')(view.state, view.dispatch, view),
    )
  }

  update(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.place())
  }

  destroy(): void {
    cancelAnimationFrame(this.frame)
    this.resized.disconnect()
    this.view.dom.removeEventListener('scroll', this.onScroll, true)
    this.tools.remove()
  }

  private button(className: string, label: string, icon: IconNode): HTMLButtonElement {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = className
    button.title = label
    button.ariaLabel = label
    button.append(makeIcon(icon))
    // The caret stays in its cell.
    button.addEventListener('mousedown', (event) => event.preventDefault())
    return button
  }

  private place(): void {
    this.frame = 0
    const range = this.view.editable ? tableRange(this.view.state) : null
    const table = range === null ? null : this.view.nodeDOM(range.from)
    const row = table instanceof HTMLElement ? table.querySelectorAll('tr')[range!.top] : undefined
    const cell = row?.cells[range!.left]
    this.tools.hidden = cell === undefined
    if (cell === undefined || !(table instanceof HTMLElement)) return
    const origin = this.tools.parentElement!.getBoundingClientRect()
    const grid = table.querySelector('table')!.getBoundingClientRect()
    const clip = table.getBoundingClientRect()
    const box = cell.getBoundingClientRect()
    const put = (element: HTMLElement, left: number, top: number) => {
      element.style.left = `${left - origin.left}px`
      element.style.top = `${top - origin.top}px`
    }
    const right = Math.min(grid.right, clip.right)
    const left = Math.max(grid.left, clip.left)
    const isLeftward = isRightToLeft(cell)
    put(this.menu, isLeftward ? box.left : box.right, box.top)
    this.menu.hidden = box.right > clip.right + 1 || box.left < clip.left - 1
    put(this.addRow, left, grid.bottom)
    this.addRow.style.width = `${right - left}px`
    put(this.addColumn, isLeftward ? left : right, grid.top)
    this.addColumn.classList.toggle('is-leftward', isLeftward)
    this.addColumn.style.height = `${grid.height}px`
  }
}

/** Tab in the last cell adds a row; Shift+Tab in the first one stays there. */
function onTab(view: EditorView, event: KeyboardEvent): boolean {
  if (event.key !== 'Tab' || event.ctrlKey || event.altKey || event.metaKey) return false
  const range = tableRange(view.state)
  if (range === null || !view.editable) return false
  const { top, bottom, left, right, rows, nColumns } = range
  if (event.shiftKey) return top === 0 && left === 0
  if (bottom !== rows.length || right !== nColumns) return false
  return appendRow(view.state, view.dispatch, view)
}

export function tablePlugin(): Plugin {
  return new Plugin({
    view: (view) => {
      const tools = new TableTools(view)
      return { update: () => tools.update(), destroy: () => tools.destroy() }
    },
    props: {
      // The wrapper of a table scrolls.
      nodeViews: { table: (node) => new TableView(node, MIN_CELL_WIDTH) },
      handleKeyDown: onTab,
      handlePaste: (view, event) => pasteCells(view, event.clipboardData),
    },
  })
}
