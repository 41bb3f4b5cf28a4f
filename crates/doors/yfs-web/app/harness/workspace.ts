// As much of a session as an editor needs: the rows of the main document, read-only.

import { signal } from '@preact/signals'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import type { EditorWorkspace, FileRow, SchemaProfile } from '../src/documents'
import { pathOfRow } from '../src/editors/file_state'

export interface HarnessWorkspace extends EditorWorkspace {
  idOf(path: string): string | null
}

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

/** Rows of yfs name their cells (`c`), so a cell's value is the effective one. */
function rowsOf(main: Y.Doc): Map<string, FileRow> {
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

export async function connect(query: URLSearchParams): Promise<HarnessWorkspace> {
  const server = query.get('server') ?? location.origin
  const token = query.get('token') ?? ''
  const request = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${token}`)
    return fetch(`${server}${path}`, { ...init, headers })
  }
  const tree = (await (await request('/api/tree')).json()) as {
    workspace: string
    profile: SchemaProfile
  }
  const sync = `${server.replace(/^http/, 'ws')}/sync`
  const main = new Y.Doc({ guid: tree.workspace })
  const rows = signal(new Map<string, FileRow>())
  main.on('update', () => {
    rows.value = rowsOf(main)
  })
  const provider = new WebsocketProvider(sync, tree.workspace, main, {
    params: { token },
    disableBc: true,
  })
  await new Promise((resolve) => provider.once('sync', resolve))
  return {
    id: tree.workspace,
    profile: tree.profile,
    rows,
    user: { name: query.get('name') ?? 'Ana', color: query.get('color') ?? '#3b82c4' },
    readOnly: query.has('readonly'),
    token,
    fetch: request,
    documentUrl: (id) => `${sync}/${id}`,
    idOf: (path) => {
      for (const id of rows.peek().keys()) {
        if (pathOfRow(rows.peek(), id) === path) return id
      }
      return null
    },
  }
}
