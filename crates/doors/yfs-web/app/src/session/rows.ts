// The files table of the main document, as a reader of the Yjs arrays sees it
// (docs/format/main-document.md).

import type * as Y from 'yjs'
import type { FileRow } from '../documents'
import type { TreeEntry } from './workspace'

interface TableElement {
  key: string
  val: Record<string, unknown>
  ts: number
}

/** Returns the winner of each key: the greatest `ts`, among equals the one further right. */
function winners(main: Y.Doc, root: string): Map<string, TableElement> {
  const best = new Map<string, TableElement>()
  for (const element of main.getArray<TableElement>(root)) {
    const known = best.get(element.key)
    if (known === undefined || !(element.ts < known.ts)) best.set(element.key, element)
  }
  return best
}

/** A cell holds the effective value of a field, the row the value for plain readers. */
export function rowsOf(main: Y.Doc): Map<string, FileRow> {
  const rows = new Map<string, FileRow>()
  for (const [id, { val }] of winners(main, 'table:files')) {
    rows.set(id, { ...(val as unknown as FileRow), id })
  }
  for (const [key, { val }] of winners(main, 'fs:cells')) {
    const [id = '', field = ''] = key.split(':')
    const row = rows.get(id)
    if (row === undefined) continue
    if (field === 'parentId') row.parentId = val['id'] as string | null
    else if (field === 'stat') Object.assign(row, val)
    else Object.assign(row, { [field]: val })
  }
  return rows
}

/** Returns the rows that a listing stands for, where the main document is not to be seen. */
export function rowsOfListing(entries: readonly TreeEntry[]): Map<string, FileRow> {
  const ids = new Map(entries.map(({ path, guid }) => [path, guid]))
  const rows = new Map<string, FileRow>()
  for (const { path, guid, kind, size, mtime, root } of entries) {
    const slash = path.lastIndexOf('/')
    const row: FileRow = {
      id: guid,
      name: path.slice(slash + 1),
      parentId: ids.get(path.slice(0, slash)) ?? null,
      type: kind === 'directory' ? 'folder' : 'file',
      size,
      updatedAt: mtime,
      trashedAt: null,
    }
    // The hash of a blob is not listed; what changes with it is enough to show the new one.
    if (kind === 'file' && root === undefined) row.blob = { hash: `${mtime}-${size}`, size }
    if (kind === 'symlink') row.link = '…'
    rows.set(guid, row)
  }
  return rows
}
