// What just-bash and a filesystem of its shells say to each other.

/** How a shell sees a workspace. */
export interface ShellOptions {
  /** Where relative paths count from. */
  cwd?: string
  /** `posix` (default) has links and modes; `collab` has neither. */
  policy?: 'posix' | 'collab'
  /** On whose behalf the shell acts. */
  actor?: string
  /** What for: shown beside its changes in blame and versions. */
  label?: string
}

/** What just-bash wants to know of an object. */
export interface ShellStat {
  isFile: boolean
  isDirectory: boolean
  isSymbolicLink: boolean
  mode: number
  size: number
  mtime: Date
  identity?: string
}

/** A name in a directory. */
export interface ShellEntry {
  name: string
  isFile: boolean
  isDirectory: boolean
  isSymbolicLink: boolean
}

/** Bytes as a string of one character per byte. just-bash does not export its own type for it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- just-bash does not export its type
export type ByteString = any

/** What a file gets beside its content. */
export interface Meta {
  mode?: number
  mtime?: Date
}
