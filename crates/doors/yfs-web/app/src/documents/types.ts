// What the editors need of the session. `session/workspace.ts` implements it.

import type { ReadonlySignal } from '@preact/signals'

/** The schema of a workspace's rich text. */
export type SchemaProfile = 'gfm' | 'commonmark'

/** The effective values of a row of the files table. */
export interface FileRow {
  id: string
  name: string
  parentId: string | null
  type: 'file' | 'folder'
  size: number
  /** When the content changed last, in milliseconds since 1970. */
  updatedAt: number
  trashedAt: number | null
  blob?: { hash: string; size: number } | null
  link?: string | null
}

export interface EditorUser {
  name: string
  color: string
}

export interface EditorWorkspace {
  /** The id of the workspace, which is the guid of its main document. */
  readonly id: string
  readonly profile: SchemaProfile
  readonly rows: ReadonlySignal<Map<string, FileRow>>
  readonly user: EditorUser
  readonly readOnly: boolean
  readonly token: string
  /** What the token covers: a file or a directory; `/`, as without it, for all. */
  readonly scope?: string
  /** Requests a path of the server, such as `/api/tree`, with the token. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Returns the address of a document's room. */
  documentUrl(id: string): string
}
