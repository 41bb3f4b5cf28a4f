// What is to be shown of a file, from its row and its document.

import { accepted } from '../session/refusal_words'
import type { ContentRoot, EditorWorkspace, FileRow } from '../documents'

export type FileState =
  | { kind: 'gone' }
  | { kind: 'directory' }
  | { kind: 'link'; target: string }
  | { kind: 'blob'; hash: string }
  | { kind: 'loading' }
  | { kind: ContentRoot }

/** Returns the node in the trash that holds a file: itself or a directory above it. */
export function trashedAncestor(rows: Map<string, FileRow>, id: string): FileRow | null {
  const seen = new Set<string>()
  let row = rows.get(id)
  while (row !== undefined && !seen.has(row.id)) {
    if (row.trashedAt !== null) return row
    seen.add(row.id)
    row = row.parentId === null ? undefined : rows.get(row.parentId)
  }
  return null
}

/** Returns the path of a row; a loop of parents ends at its beginning. */
export function pathOfRow(rows: Map<string, FileRow>, id: string): string | null {
  const names: string[] = []
  const seen = new Set<string>()
  let row = rows.get(id)
  while (row !== undefined && !seen.has(row.id)) {
    names.unshift(row.name)
    seen.add(row.id)
    row = row.parentId === null ? undefined : rows.get(row.parentId)
  }
  return names.length === 0 ? null : `/${names.join('/')}`
}

export function fileState(row: FileRow | undefined, root: ContentRoot | null): FileState {
  if (row === undefined) return { kind: 'gone' }
  if (row.type === 'folder') return { kind: 'directory' }
  if (row.link) return { kind: 'link', target: row.link }
  if (row.blob) return { kind: 'blob', hash: row.blob.hash }
  return root === null ? { kind: 'loading' } : { kind: root }
}

/** Identifies what is mounted: an equal key needs no other editor. */
export const stateKey = (state: FileState): string =>
  'hash' in state ? `${state.kind} ${state.hash}` : state.kind

/** Restores a file from the trash; returns its path. */
export async function restoreFile(workspace: EditorWorkspace, id: string): Promise<string> {
  const response = await workspace.fetch('/api/restore', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id }),
  })
  return ((await (await accepted(response)).json()) as { path: string }).path
}
