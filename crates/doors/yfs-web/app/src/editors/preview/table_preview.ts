// A file of separated values as a table. Only the rows on screen exist.

import { ArrowDown, ArrowUp } from 'lucide'
import { plural, t } from '../../language/translate'
import { makeIcon } from '../../look/icon'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import { compareCells, parseTable, separatorOf } from './parse_table'
import './preview.css'

const ROW_HEIGHT = 29
/** Rows above and below the viewport that exist too. */
const MARGIN = 10
/** Browsers limit the height of an element: longer tables end here, in rows. */
const MAX_ROWS = 400_000
/** Rows that decide how wide the columns are. */
const SAMPLE = 200
const [MIN_WIDTH, MAX_WIDTH] = [6, 40]
/** How long a change of the text waits for the next one, in milliseconds. */
const CHANGE_MS = 200

interface SortOrder {
  column: number
  isDescending: boolean
}

class TablePreview {
  private readonly root = document.createElement('div')
  private readonly head = document.createElement('div')
  private readonly body = document.createElement('div')
  private readonly note = document.createElement('p')
  private names: string[] = []
  private rows: string[][] = []
  private shown: string[][] = []
  private order: SortOrder | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly resized = new ResizeObserver(() => this.draw())
  private readonly onChange = () => {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.read(), CHANGE_MS)
  }

  constructor(private readonly options: MountOptions) {
    this.root.className = 'table-preview'
    this.root.tabIndex = 0
    this.root.setAttribute('role', 'table')
    this.root.ariaLabel = t('Table of {name}', { name: options.name })
    this.head.className = 'table-preview-head'
    this.head.setAttribute('role', 'row')
    this.body.className = 'table-preview-body'
    this.body.setAttribute('role', 'rowgroup')
    this.note.className = 'table-preview-note'
    this.root.append(this.head, this.body)
    options.container.classList.add('has-table')
    options.container.append(this.root, this.note)
    this.root.addEventListener('scroll', () => this.draw(), { passive: true })
    this.resized.observe(this.root)
    this.text.observe(this.onChange)
    this.read()
  }

  focus(): void {
    this.root.focus()
  }

  /** Scrolls to the row of a line, if no cell before it has a line end. */
  reveal(line: number): void {
    this.root.scrollTop = Math.max(0, line - 3) * ROW_HEIGHT
  }

  destroy(): void {
    clearTimeout(this.timer)
    this.resized.disconnect()
    this.text.unobserve(this.onChange)
  }

  private get text() {
    return this.options.document.doc.getText('text')
  }

  private read(): void {
    const text = this.text.toString()
    const [names = [], ...rows] = parseTable(text, separatorOf(this.options.name, text))
    this.names = names
    this.rows = rows.slice(0, MAX_ROWS)
    const sample = [names, ...this.rows.slice(0, SAMPLE)]
    const nColumns = sample.reduce((most, row) => Math.max(most, row.length), 0)
    const widths = Array.from({ length: nColumns }, (_, n) =>
      sample.reduce((most, row) => Math.max(most, row[n]?.length ?? 0), MIN_WIDTH),
    )
    const columns = widths.map((width) => `${Math.min(MAX_WIDTH, width) + 4}ch`)
    this.root.style.setProperty('--columns', `5ch ${columns.join(' ')}`)
    this.root.setAttribute('aria-rowcount', String(this.rows.length + 1))
    this.note.textContent = plural(rows.length, '1 row', '{n} rows')
    this.sort(this.order)
  }

  private sort(order: SortOrder | null): void {
    this.order = order
    this.shown = this.rows
    if (order !== null) {
      const { column, isDescending } = order
      const sign = isDescending ? -1 : 1
      this.shown = this.rows.toSorted(
        (a, b) => sign * compareCells(a[column] ?? '', b[column] ?? ''),
      )
    }
    this.body.style.height = `${this.shown.length * ROW_HEIGHT}px`
    this.drawHead()
    this.draw()
  }

  private drawHead(): void {
    const corner = document.createElement('span')
    corner.setAttribute('role', 'columnheader')
    corner.ariaLabel = t('Row')
    this.head.replaceChildren(corner, ...this.names.map((name, n) => this.makeHeadCell(name, n)))
  }

  private makeHeadCell(name: string, column: number): HTMLElement {
    const { order } = this
    const isSorted = order?.column === column
    const cell = document.createElement('span')
    cell.setAttribute('role', 'columnheader')
    cell.ariaSort = !isSorted ? 'none' : order.isDescending ? 'descending' : 'ascending'
    const button = document.createElement('button')
    button.type = 'button'
    button.title = name
    const label = document.createElement('span')
    label.textContent = name
    button.append(label)
    if (isSorted) button.append(makeIcon(order.isDescending ? ArrowDown : ArrowUp))
    button.addEventListener('click', () => {
      const next = !isSorted
        ? { column, isDescending: false }
        : order.isDescending
          ? null
          : { column, isDescending: true }
      this.sort(next)
      this.head.querySelectorAll('button')[column]?.focus()
    })
    cell.append(button)
    return cell
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.root
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - MARGIN)
    const last = Math.min(
      this.shown.length,
      Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + MARGIN,
    )
    const rows = this.shown.slice(first, last).map((row, n) => this.makeRow(row, first + n))
    this.body.replaceChildren(...rows)
  }

  private makeRow(cells: string[], index: number): HTMLElement {
    const row = document.createElement('div')
    row.className = 'table-preview-row'
    row.setAttribute('role', 'row')
    row.setAttribute('aria-rowindex', String(index + 2))
    row.style.top = `${index * ROW_HEIGHT}px`
    const make = (text: string, role: string) => {
      const cell = document.createElement('span')
      cell.setAttribute('role', role)
      cell.textContent = text
      if (text.length > MAX_WIDTH) cell.title = text
      if (text !== '' && !Number.isNaN(Number(text))) cell.className = 'is-number'
      return cell
    }
    row.append(make(String(index + 1), 'rowheader'), ...cells.map((text) => make(text, 'cell')))
    return row
  }
}

export function mountTablePreview(options: MountOptions): MountedEditor {
  const preview = new TablePreview(options)
  return {
    focus: () => preview.focus(),
    reveal: (line) => preview.reveal(line),
    rename: () => {},
    setReadOnly: () => {},
    destroy: () => preview.destroy(),
  }
}
