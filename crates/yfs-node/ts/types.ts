// What the calls of a workspace take and return. Times are milliseconds since 1970.

/** What sort of object a path names. */
export type Kind = 'file' | 'directory' | 'symlink'

/** How a workspace is opened. */
export interface OpenOptions {
  /** On whose behalf changes are made: `human:ada`, `agent:reviewer`. */
  actor?: string
  /** Whether to make the workspace if the file is not there; yes unless this is false. */
  create?: boolean
  /** Which schema the rich text of a new workspace keeps. */
  profile?: 'gfm' | 'commonmark'
  readOnly?: boolean
  /** How many bytes of documents stay in memory while nobody holds them. */
  docBudget?: number
  /** How many bytes of plain text are kept for reading and searching. */
  textBudget?: number
}

/** What is known of an object without reading it, as Node's `Stats` has it. */
export interface Stats {
  /** The identity, which renames and moves keep. */
  id: string
  kind: Kind
  size: number
  mode: number
  mtimeMs: number
  mtime: Date
  /** When it was made. */
  birthtimeMs: number
}

/** What is known of an object, its media type, metadata and version included. */
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

/** An object below a directory. */
export interface WalkEntry {
  path: string
  id: string
  kind: Kind
  size: number
  mtimeMs: number
  mode: number
}

/** What a file held, and as of which version: pass that as the base of the write that follows. */
export interface Content {
  data: Uint8Array
  version: string
}

/** How content is written. */
export interface WriteOptions {
  /** Whether the file may be there: `any` (default), `new` or `never`. */
  create?: 'any' | 'new' | 'never'
  /** What the writer had read, so that what others did since stays. */
  base?: string | Uint8Array
  /** The version that the writer had read, for the same. */
  baseVersion?: string
  /** Refuse with `ESTALE` unless the version is this one. */
  expectedVersion?: string
  mode?: number
  mime?: string
  mtimeMs?: number
  /** Whether missing directories are made; yes unless this is false. */
  parents?: boolean
  /** Whether a link at the end is followed; yes unless this is false. */
  follow?: boolean
}

/** What writing did. */
export interface Written {
  id: string
  /** The version of what the file holds, if the writer knows that: it is what was written. Otherwise it must be read first. */
  version?: string
  /** Whether the file may hold changes of others that the writer has not read. */
  merged: boolean
  /** The size of the file afterwards. */
  size: number
  created: boolean
  /** Where somebody else had changed the same. */
  overlaps: { offset: number; length: number; actor: string | null }[]
}

/** What editing did. */
export interface Edited {
  /** How many occurrences were replaced. */
  replaced: number
  /** The version of what the file holds, if the caller named the version that it edited. */
  version?: string
}

/** Which paths to find. */
export interface GlobQuery {
  root?: string
  hidden?: boolean
  ignoreCase?: boolean
  directories?: boolean
  limit?: number
}

/** Which lines to find. */
export interface GrepQuery {
  root?: string
  literal?: boolean
  ignoreCase?: boolean
  wholeWord?: boolean
  hidden?: boolean
  include?: string[]
  exclude?: string[]
  before?: number
  after?: number
  maxPerFile?: number
  maxTotal?: number
  maxLineLength?: number
  timeoutMs?: number
}

/** Why a search ended before its end. */
export type Cut = 'limit' | 'deadline' | 'cancelled' | null

/** The lines that were found. */
export interface GrepResult {
  files: {
    path: string
    id: string
    lines: { number: number; text: string; isMatch: boolean; matches: [number, number][]; cut: boolean }[]
    cut: boolean
  }[]
  matches: number
  searched: number
  binary: number
  tooLarge: number
  cut: Cut
}

/** What changed. */
export interface Change {
  type: 'created' | 'changed' | 'moved' | 'removed'
  path: string
  /** Where it was, of what moved. */
  from: string | null
  id: string
  kind: Kind
  actor: string | null
  at: number
  /** The place behind this change: watch from here, and nothing is missed. */
  cursor: string
}

/** Something in the trash. */
export interface Trashed {
  id: string
  name: string
  kind: Kind
  trashedAt: number
  original: string
  hidden: number
  stranded: string[]
  purging: boolean
}

/** A version of a file. */
export interface Version {
  number: number
  at: number
  actor: string | null
  label: string | null
  names: string[]
  redacted: boolean
  current: boolean
}

/** Which version is meant. */
export type Which = { number: number } | { name: string } | { at: number }

/** A line, and who wrote it. */
export interface BlameLine {
  number: number
  text: string
  actor: string | null
  at: number | null
  version: number | null
  shares: { actor: string | null; at: number | null; label: string | null; version: number | null; chars: number }[]
}

/** Two changes that cannot both be shown as they are. */
export interface Conflict {
  kind: string
  id: string
  path: string
  detail: string
}

/** Where an anchor is now. */
export interface Anchored {
  path: string
  offset: number
  line: number
  exact: boolean
}

/** What an editor must know of a file. */
export interface DocumentInfo {
  /** The guid of its Yjs document, which is the id of the file and stays when that is renamed. */
  guid: string
  category: 'text' | 'rich-text'
  /** The schema of rich text. */
  profile: 'gfm' | 'commonmark' | null
  /** The root to bind to; nothing if the content is not in the document. */
  root: 'text' | 'richtext' | null
}

/** What an import did. */
export interface ImportReport {
  created: number
  updated: number
  unchanged: number
  folders: number
  links: number
  bytes: number
  skipped: { path: string; why: string }[]
}

/** What an export did. */
export interface ExportReport {
  written: number
  unchanged: number
  folders: number
  bytes: number
  skipped: { path: string; why: string }[]
}

/** How large a workspace is. */
export interface WorkspaceStats {
  id: string
  files: number
  folders: number
  trashed: number
  parked: number
  openDocuments: number
}

/** Some lines of a file. */
export interface LinePage {
  /** The lines, without their newlines. */
  lines: string[]
  /** The number of the first of them, from 0. */
  offset: number
  /** How many lines the file has. */
  total: number | null
  /** Where the next page begins; nothing if this one reaches the end. */
  next: number | null
  /** Whether the last of them is followed by a newline. */
  endsWithNewline: boolean
  version: string
}

/** What a redaction erases. */
export interface Redacted {
  /** The pieces of text, each as it was typed. */
  pieces: string[]
  /** How many characters these have, as Yjs counts. */
  units: number
  /** The contents that were kept by reference. */
  blobs: string[]
  /** Of these, what stays because something else names it. */
  kept: string[]
  /** The versions that stay readable and hold some of it, which therefore stays. */
  heldBy: number[]
}

/** One record of what was erased. */
export interface Redaction {
  actor: string
  at: number
  reason: string | null
  units: number
  blobs: number
}

/** An update of a peer that was refused: equal ones are listed once. */
export interface Quarantined {
  doc: string
  /** When it was last refused. */
  at: number
  /** How often it was refused. */
  times: number
  reason: string
  bytes: number
}
