// Commands on the table around the selection. Tables of markdown have no spans: each row has the
// same number of cells, and the first row is the head.

import { deleteTable, isInTable, selectedRect } from '@milkdown/kit/prose/tables'
import { Fragment, type Node } from 'prosemirror-model'
import { Selection, type Command, type EditorState, type Transaction } from 'prosemirror-state'

export type Alignment = 'left' | 'center' | 'right'

/** The table around the selection, its rows, and the selected rows and columns. */
export interface TableRange {
  table: Node
  /** The position before the table. */
  from: number
  rows: Node[]
  top: number
  bottom: number
  left: number
  right: number
  nColumns: number
}

export function tableRange(state: EditorState): TableRange | null {
  if (!isInTable(state)) return null
  const { table, tableStart, top, bottom, left, right, map } = selectedRect(state)
  const rows = [...table.children]
  return { table, from: tableStart - 1, rows, top, bottom, left, right, nColumns: map.width }
}

/** Puts the caret into a cell of the table that begins at a position. */
export function selectCell(tr: Transaction, from: number, row: number, column: number): void {
  const table = tr.doc.nodeAt(from)
  if (table === null) return
  let at = from + 1
  for (let n = 0; n < row; n++) at += table.child(n).nodeSize
  at += 1
  for (let n = 0; n < column; n++) at += table.child(row).child(n).nodeSize
  tr.setSelection(Selection.near(tr.doc.resolve(at + 1)))
}

/** Returns an empty cell of a kind with the alignment of another one. */
function emptyCell(of: Node): Node {
  return of.type.createAndFill({ alignment: of.attrs['alignment'] })!
}

/** Returns the alignment of a cell that the file must name; the default one is not named. */
function explicitAlignment(cell: Node): Alignment | null {
  const alignment = cell.attrs['alignment'] as Alignment | null
  return alignment === 'left' ? null : alignment
}

/** Returns a cell of a row of another kind with the same content. */
function turnCell(cell: Node, isHead: boolean): Node {
  const { table_header: head, table_cell: body } = cell.type.schema.nodes
  const type = isHead ? head! : body!
  return type.create({ alignment: explicitAlignment(cell) }, cell.content)
}

/** Returns a cell for another place. */
const copyCell = (cell: Node): Node =>
  cell.type.create({ ...cell.attrs, alignment: explicitAlignment(cell) }, cell.content)

function turnRow(row: Node, isHead: boolean): Node {
  const { table_header_row: head, table_row: body } = row.type.schema.nodes
  const cells = [...row.children].map((cell) => turnCell(cell, isHead))
  return (isHead ? head! : body!).create(null, cells)
}

/** Returns a row of the body without text for a table with a head. */
export function emptyRow(head: Node): Node {
  const cells = [...head.children].map((cell) => emptyCell(turnCell(cell, false)))
  return head.type.schema.nodes['table_row']!.create(null, cells)
}

/** Makes a command that gives the table other rows and puts the caret into a cell. */
function changeRows(
  change: (range: TableRange) => { rows: Node[]; row: number; column: number } | null,
): Command {
  return (state, dispatch) => {
    const range = tableRange(state)
    const changed = range === null ? null : change(range)
    if (range === null || changed === null) return false
    const { from, table } = range
    const tr = state.tr
    replaceRows(tr, from, table, changed.rows)
    selectCell(tr, from, changed.row, changed.column)
    dispatch?.(tr.scrollIntoView())
    return true
  }
}

/** Replaces the rows between those at both ends that stay. */
export function replaceRows(tr: Transaction, from: number, table: Node, rows: Node[]): void {
  const old = [...table.children]
  let start = 0
  while (start < Math.min(old.length, rows.length) && old[start] === rows[start]) start++
  let nEnd = 0
  const nMost = Math.min(old.length, rows.length) - start
  while (nEnd < nMost && old[old.length - 1 - nEnd] === rows[rows.length - 1 - nEnd]) nEnd++
  const sizeOf = (nodes: Node[]) => nodes.reduce((size, { nodeSize }) => size + nodeSize, 0)
  const first = from + 1 + sizeOf(old.slice(0, start))
  const end = first + sizeOf(old.slice(start, old.length - nEnd))
  tr.replaceWith(first, end, Fragment.from(rows.slice(start, rows.length - nEnd)))
}

/** Inserts an empty row above or below the selected ones; nothing stands above the head. */
export const insertRow = (side: 'above' | 'below'): Command =>
  changeRows(({ rows, top, bottom, left }) => {
    const at = side === 'above' ? top : bottom
    if (at === 0) return null
    return { rows: rows.toSpliced(at, 0, emptyRow(rows[0]!)), row: at, column: left }
  })

/** Appends a row, and puts the caret into its first cell. */
export const appendRow: Command = changeRows(({ rows }) => ({
  rows: [...rows, emptyRow(rows[0]!)],
  row: rows.length,
  column: 0,
}))

const changeCells = (row: Node, change: (cells: Node[]) => Node[]): Node =>
  row.copy(Fragment.from(change([...row.children])))

export const insertColumn = (side: 'left' | 'right' | 'end'): Command =>
  changeRows(({ rows, top, left, right, nColumns }) => {
    const at = { left, right, end: nColumns }[side]
    const withCell = (cells: Node[]) => {
      const like = cells[Math.min(at, cells.length - 1)]!
      return cells.toSpliced(at, 0, like.type.createAndFill({ alignment: null })!)
    }
    return { rows: rows.map((row) => changeCells(row, withCell)), row: top, column: at }
  })

/** Moves the selected rows by one; the head stays. */
export const moveRow = (by: -1 | 1): Command =>
  changeRows(({ rows, top, bottom, left }) => {
    if (top === 0 || top + by < 1 || bottom + by > rows.length) return null
    const moved = rows.slice(top, bottom)
    const others = rows.toSpliced(top, bottom - top)
    return { rows: others.toSpliced(top + by, 0, ...moved), row: top + by, column: left }
  })

export const moveColumn = (by: -1 | 1): Command =>
  changeRows(({ rows, top, left, right, nColumns }) => {
    if (left + by < 0 || right + by > nColumns) return null
    const move = (cells: Node[]) => {
      const moved = cells.slice(left, right).map(copyCell)
      const passed = by < 0 ? left - 1 : right
      const others = cells.with(passed, copyCell(cells[passed]!)).toSpliced(left, right - left)
      return others.toSpliced(left + by, 0, ...moved)
    }
    return { rows: rows.map((row) => changeCells(row, move)), row: top, column: left + by }
  })

/** Deletes the selected rows. The row after a deleted head becomes the head. */
export const deleteRows: Command = (state, dispatch) => {
  const range = tableRange(state)
  if (range !== null && range.bottom - range.top === range.rows.length) {
    return deleteTable(state, dispatch)
  }
  return changeRows(({ rows, top, bottom, left }) => {
    const [head, ...body] = rows.toSpliced(top, bottom - top)
    const kept = [turnHead(head!), ...body]
    if (kept.length === 1) kept.push(emptyRow(head!))
    return { rows: kept, row: Math.min(top, kept.length - 1), column: left }
  })(state, dispatch)
}

const turnHead = (row: Node): Node =>
  row.type.name === 'table_header_row' ? row : turnRow(row, true)

export const deleteColumns: Command = (state, dispatch) => {
  const range = tableRange(state)
  if (range !== null && range.right - range.left === range.nColumns) {
    return deleteTable(state, dispatch)
  }
  return changeRows(({ rows, top, left, right, nColumns }) => ({
    rows: rows.map((row) => changeCells(row, (cells) => cells.toSpliced(left, right - left))),
    row: top,
    column: Math.min(left, nColumns - (right - left) - 1),
  }))(state, dispatch)
}

export const alignColumns = (alignment: Alignment): Command =>
  changeRows(({ rows, top, left, right }) => {
    const align = (cells: Node[]) =>
      cells.map((cell, n) =>
        n < left || n >= right
          ? cell
          : cell.type.create({ ...cell.attrs, alignment }, cell.content),
      )
    return { rows: rows.map((row) => changeCells(row, align)), row: top, column: left }
  })

/** Returns rows that have cells of a grid from a place on, with more rows and columns as needed. */
export function fillRows(range: TableRange, grid: Fragment[][]): Node[] {
  const { rows, top, left, nColumns } = range
  const width = Math.max(nColumns, left + Math.max(...grid.map((cells) => cells.length)))
  const height = Math.max(rows.length, top + grid.length)
  const all = [...rows]
  while (all.length < height) all.push(emptyRow(rows[0]!))
  return all.map((row, y) =>
    changeCells(row, (cells) => {
      const wide = [...cells]
      while (wide.length < width) wide.push(cells[0]!.type.createAndFill({ alignment: null })!)
      return wide.map((cell, x) => {
        const content = grid[y - top]?.[x - left]
        if (content === undefined) return cell
        const paragraph = cell.type.schema.nodes['paragraph']!.create(null, content)
        return cell.type.create(cell.attrs, paragraph)
      })
    }),
  )
}

export { deleteTable }
