// The types of the package's calls. Times are milliseconds since 1970. What crosses to the native
// half as JSON is generated (wire.ts); here is the rest: options that never cross as JSON, and
// descriptions that follow Node's `fs.Stats`.

import type { ChangeEvent, GrepFile, GrepTotals, Kind } from './wire.js'

export type * from './wire.js'

/** The attributes of a node, as Node's `Stats` has them. */
export interface Stats {
  /** The id, which moves and renames keep. */
  id: string
  kind: Kind
  /** In bytes. */
  size: number
  /** The permission bits. */
  mode: number
  mtimeMs: number
  mtime: Date
  /** The time when the node was created. */
  birthtimeMs: number
}

/** The attributes of a node, with its media type, metadata and version. */
export interface Description extends Omit<Stats, 'mtime'> {
  mime: string | null
  version: string | null
  metadata: Record<string, unknown>
}

/** A name in a directory. */
export interface Entry {
  name: string
  kind: Kind
}

/** A node below a directory. */
export interface WalkEntry {
  path: string
  id: string
  kind: Kind
  size: number
  mtimeMs: number
  mode: number
}

/** The content of a file and its version: the base of the next write. */
export interface Content {
  data: Uint8Array
  version: string
}

/** How content is written. */
export interface WriteOptions {
  /** Whether the file may exist: `any` (default), `new` or `never`. */
  create?: 'any' | 'new' | 'never'
  /** The content that the writer read. Changes that others made since are kept. */
  base?: string | Uint8Array
  /** The version that the writer read, for the same. */
  baseVersion?: string
  /** Reject with `ESTALE` unless this is the version. */
  expectedVersion?: string
  mode?: number
  mime?: string
  mtimeMs?: number
  /** Whether missing directories are created; true by default. */
  parents?: boolean
  /** Whether a link at the end of the path is followed; true by default. */
  follow?: boolean
}

/** The lines that a search found. */
export interface GrepResult extends GrepTotals {
  files: GrepFile[]
}

/** A change, with the position in the log of changes behind it. */
export interface Change extends ChangeEvent {
  /** Watch from here, and no later change is missed. */
  cursor: string
}

/** What undoing changes of one kind in one file did. */
export interface UndoneChange {
  path: string
  /** `created`, `edited`, `renamed`, `moved`, `mode`, `restored` or `deleted`. */
  change: string
  result:
    | 'reverted'
    | 'removed'
    | 'restored'
    | 'moved_back'
    | 'mode_restored'
    | 'nothing'
    /** The change stands, because of `reason`. */
    | 'kept'
  /** Whether later changes by others were kept. */
  keptOthers: boolean
  reason: string | null
}

/** Which records of agents are returned. An absent member selects all. */
export interface AuditOptions {
  session?: string
  /** Such as `agent:planner`. */
  actor?: string
  tool?: string
  /** Records with this file, or with one below this directory. */
  path?: string
  sinceMs?: number
  untilMs?: number
  /** Records that failed, or that did not. */
  failed?: boolean
  /** The greatest number of records: the latest are returned; 10,000 by default. */
  limit?: number
}

/** A call of a tool by an agent, or an operation that changed files. */
export interface AuditRecord {
  atMs: number
  actor: string
  session: string
  callId: string | null
  /** The tool that was called. */
  tool: string | null
  /** The operation; null in the record of the call as a whole. */
  operation: string | null
  /** The BLAKE3 digest of the arguments as JSON; null for an operation. */
  argumentsDigest: string | null
  result: 'done' | 'failed' | 'abandoned'
  reason: string | null
  durationUs: number
  files: { path: string; before: string | null; after: string | null }[]
}

/** Selects a version: by its number, by its name, or the current one at a time. */
export type Which = { number: number } | { name: string } | { at: number }
