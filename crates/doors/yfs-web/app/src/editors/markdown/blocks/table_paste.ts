// Cells of a spreadsheet that are pasted into a table fill its cells.

import { DOMParser as ProseParser, Fragment, type Node, type Schema } from 'prosemirror-model'
import type { EditorView } from 'prosemirror-view'
import { fillRows, replaceRows, selectCell, tableRange } from './table_commands'

/** Returns the text and the marks of a cell as one line. */
function inlineOf(schema: Schema, cell: HTMLElement): Fragment {
  const parsed = ProseParser.fromSchema(schema).parse(cell)
  const nodes: Node[] = []
  parsed.descendants((node) => {
    if (!node.isTextblock) return true
    if (nodes.length > 0 && node.childCount > 0) nodes.push(schema.text(' '))
    nodes.push(...node.children.filter((child) => child.isText || child.type.name === 'image'))
    return false
  })
  return Fragment.from(nodes)
}

function gridOfHtml(schema: Schema, html: string): Fragment[][] | null {
  const table = new DOMParser().parseFromString(html, 'text/html').querySelector('table')
  if (table === null) return null
  const rows = [...table.rows].map((row) =>
    [...row.cells].map((cell) => inlineOf(schema, cell as HTMLElement)),
  )
  return rows.length === 0 ? null : rows
}

function gridOfText(schema: Schema, text: string): Fragment[][] | null {
  if (!text.includes('\t')) return null
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  return lines.map((line) =>
    line.split('\t').map((cell) => {
      const content = cell.trim()
      return content === '' ? Fragment.empty : Fragment.from(schema.text(content))
    }),
  )
}

/** Fills cells with what a clipboard has; returns whether it has cells and the caret is in one. */
export function pasteCells(view: EditorView, data: DataTransfer | null): boolean {
  const range = tableRange(view.state)
  if (range === null || data === null || !view.editable) return false
  const { schema, tr } = view.state
  const grid =
    gridOfHtml(schema, data.getData('text/html')) ?? gridOfText(schema, data.getData('text/plain'))
  if (grid === null) return false
  const rows = fillRows(range, grid)
  replaceRows(tr, range.from, range.table, rows)
  selectCell(tr, range.from, range.top + grid.length - 1, range.left + grid.at(-1)!.length - 1)
  view.dispatch(tr.scrollIntoView())
  return true
}
