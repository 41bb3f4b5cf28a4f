// Where a session learns what there is and who is there: the main document, or, with a token for a
// part of the workspace, which never opens that document, the lists and events of the server.

import type { EditorUser, FileRow } from '../documents'
import type { KeptWorkspace } from './kept_workspace'

export interface Peer {
  client: number
  name: string
  color: string
  /** The id of the file that the person has open. */
  open: string | null
  /** Whether a program is at work. */
  agent: boolean
  /** Whether it has just written there; else it reads. */
  writes: boolean
}

/** What a source says. */
export interface SourceListener {
  /** The rows of files, if the source has them; else they are made of the listing. */
  onRows(rows: Map<string, FileRow>): void
  /** The listing is to be read again. */
  onChange(): void
  onOnline(isOnline: boolean): void
  onPeers(peers: Peer[]): void
  /** Why the server serves this no more; null if it does. */
  onRefusal(reason: string | null): void
}

export interface WorkspaceSource {
  /** The number by which others know this page; null before the server has given one. */
  readonly client: number | null
  /** Loads what this browser has, and connects. */
  start(kept: KeptWorkspace | null): Promise<void>
  /** Says to the others who is here and which file is open. */
  announce(user: EditorUser, open: string | null): void
}
