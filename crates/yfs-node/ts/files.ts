// The files of a workspace, on behalf of somebody.

import { asking, calling } from './errors.js'
import type { NativeFs, NativePages, NativeWrite } from './native.js'
import { each, gathered, gatheredWith } from './pages.js'
import type {
  Content, Cut, Description, Entry, GlobQuery, GrepQuery, GrepResult, Kind, LinePage, Stats, WalkEntry, WriteOptions, Written,
} from './types.js'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The kinds by the letter that the native half uses. */
const KINDS: Record<string, Kind> = { f: 'file', d: 'directory', l: 'symlink' }

/** The files of a workspace, on behalf of somebody. What only looks into memory has a form that answers at once. */
export class Files {
  /** Where a call of the native half puts what it found: kind, size, time, mode, time of making. */
  readonly #fields = new Float64Array(5)
  readonly #native: NativeFs

  /** @internal */
  constructor(native: NativeFs) {
    this.#native = native
  }

  /** Describes what is at a path, through links. */
  statSync(path: string): Stats {
    return this.#stat(path, true)
  }

  /** Describes what is at a path, and a link as itself. */
  lstatSync(path: string): Stats {
    return this.#stat(path, false)
  }

  /** Describes what is at a path, if anything is. */
  findSync(path: string, follow: boolean): Stats | undefined {
    const id = calling(() => this.#native.find(path, follow, this.#fields))
    return id === null ? undefined : this.#described(id)
  }

  /** Tells whether a path leads to something, through links. */
  existsSync(path: string): boolean {
    try {
      return this.#native.find(path, true, this.#fields) !== null
    } catch {
      return false
    }
  }

  /** Lists a directory, in the order of the names' code points. */
  readdirSync(path: string): Entry[] {
    return entriesOf(calling(() => this.#native.readdir(path)))
  }

  /** Returns a number that no other file has, nor this one for another text, if it is a text that is in memory. */
  textStateSync(path: string): number | undefined {
    return calling(() => this.#native.textState(path)) ?? undefined
  }

  /** Returns a text that is in memory. */
  textSync(path: string): { id: string; version: string; text: string } | undefined {
    const known = calling(() => this.#native.textInMemory(path))
    if (known === null) return undefined
    const [blank, end] = [known.indexOf(' '), known.indexOf('\n')]
    return { id: known.slice(0, blank), version: known.slice(blank + 1, end), text: known.slice(end + 1) }
  }

  /** Returns the same files with a label on what is done from now on. */
  labelled(label: string): Files {
    return new Files(this.#native.labelled(label))
  }

  /** Lists every path, each directory before what it holds. The root is not listed. */
  allPathsSync(): Entry[] {
    return entriesOf(calling(() => this.#native.allPaths()))
  }

  /** Returns the path of the same object without any link. */
  realpathSync(path: string): string {
    return calling(() => this.#native.realpath(path))
  }

  /** Returns where a link points. */
  readlinkSync(path: string): string {
    return calling(() => this.#native.readlink(path))
  }

  /** Describes what is at a path, through links. */
  async stat(path: string): Promise<Stats> {
    return this.statSync(path)
  }

  /** Describes what is at a path, and a link as itself. */
  async lstat(path: string): Promise<Stats> {
    return this.lstatSync(path)
  }

  /** Tells whether a path leads to something, through links. */
  async exists(path: string): Promise<boolean> {
    return this.existsSync(path)
  }

  /** Lists a directory, in the order of the names' code points. */
  async readdir(path: string): Promise<Entry[]> {
    return this.readdirSync(path)
  }

  /** Returns the path of the same object without any link. */
  async realpath(path: string): Promise<string> {
    return this.realpathSync(path)
  }

  /** Returns where a link points. */
  async readlink(path: string): Promise<string> {
    return this.readlinkSync(path)
  }

  /** Describes what is at a path, its media type, metadata and version included. */
  async describe(path: string, options: { follow?: boolean } = {}): Promise<Description> {
    return JSON.parse(await asking(() => this.#native.describe(path, options.follow ?? true)))
  }

  /** Reads a file, with the version that was read. */
  async read(path: string): Promise<Content> {
    return asking(() => this.#native.read(path))
  }

  /** Reads up to `limit` lines from line `offset` (from 0) on. */
  async readLines(path: string, options: { offset?: number; limit?: number } = {}): Promise<LinePage> {
    const { offset = 0, limit = Number.MAX_SAFE_INTEGER } = options
    return JSON.parse(await asking(() => this.#native.readLines(path, offset, limit)))
  }

  /** Reads up to `length` bytes from a byte on. */
  async readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return asking(() => this.#native.readRange(path, offset, length))
  }

  /** Reads a file with its version, at once if it is a text in memory. */
  async readVersioned(path: string): Promise<Content> {
    const known = this.textSync(path)
    return known ? { data: encoder.encode(known.text), version: known.version } : this.read(path)
  }

  /** Reads a file as bytes. */
  async readFile(path: string): Promise<Uint8Array> {
    return (await this.readVersioned(path)).data
  }

  /** Reads a file as text; what is not UTF-8 shows as U+FFFD. */
  async readText(path: string): Promise<string> {
    return this.textSync(path)?.text ?? decoder.decode((await this.read(path)).data)
  }

  /** Makes `data` the content of a file, as the least edit of what is there. */
  async writeFile(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<Written> {
    const base = options.base === undefined ? null : bytesOf(options.base)
    const bytes = bytesOf(data)
    return JSON.parse(await asking(() => this.#native.write(path, bytes, base, nativeOf(options))))
  }

  /** Adds `data` to the end of a file. */
  async appendFile(path: string, data: string | Uint8Array, options: WriteOptions = {}): Promise<Written> {
    const bytes = bytesOf(data)
    return JSON.parse(await asking(() => this.#native.append(path, bytes, nativeOf(options))))
  }

  /** Replaces text inside a file: finds and splices in one step. */
  async edit(
    path: string,
    old: string,
    text: string,
    options: { all?: boolean; expectedVersion?: string } = {},
  ): Promise<{ replaced: number; version: string }> {
    const { all = false, expectedVersion = null } = options
    return JSON.parse(await asking(() => this.#native.edit(path, old, text, all, expectedVersion)))
  }

  /** Makes a directory. */
  async mkdir(path: string, options: { recursive?: boolean; mode?: number } = {}): Promise<void> {
    await asking(() => this.#native.mkdir(path, options.recursive ?? false, options.mode ?? null))
  }

  /** Moves something to the trash. */
  async rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    await asking(() => this.#native.rm(path, options.recursive ?? false, options.force ?? false))
  }

  /** Copies something, with mode and time; a directory that is there is merged into. */
  async cp(from: string, to: string, options: { recursive?: boolean; replace?: boolean } = {}): Promise<void> {
    await asking(() => this.#native.cp(from, to, options.recursive ?? false, options.replace ?? true))
  }

  /** Moves or renames something. A file that is replaced keeps its id, and so its editors and its history. */
  async mv(from: string, to: string, options: { replace?: boolean; parents?: boolean } = {}): Promise<void> {
    await asking(() => this.#native.mv(from, to, options.replace ?? true, options.parents ?? true))
  }

  /** Makes a symbolic link. */
  async symlink(target: string, path: string): Promise<void> {
    await asking(() => this.#native.symlink(target, path))
  }

  /** Sets the permission bits. */
  async chmod(path: string, mode: number): Promise<void> {
    await asking(() => this.#native.chmod(path, mode))
  }

  /** Sets the time of the last change. */
  async utimes(path: string, mtime: Date | number): Promise<void> {
    await asking(() => this.#native.utimes(path, Number(mtime)))
  }

  /** Replaces the custom metadata. */
  async setMetadata(path: string, metadata: Record<string, unknown>): Promise<void> {
    await asking(() => this.#native.setMetadata(path, JSON.stringify(metadata)))
  }

  /** Lists what lies below a directory. */
  async walk(path: string, options: { maxDepth?: number; hidden?: boolean } = {}): Promise<WalkEntry[]> {
    return gathered(() => this.#native.walk(path, options.maxDepth ?? null, options.hidden ?? true))
  }

  /** Yields what lies below a directory, for trees that are too large to hold. */
  async *each(path: string, options: { maxDepth?: number; hidden?: boolean } = {}): AsyncGenerator<WalkEntry, void, void> {
    yield* each<WalkEntry>(() => this.#native.walk(path, options.maxDepth ?? null, options.hidden ?? true))
  }

  /** Adds up what lies below a directory. */
  async totals(path: string): Promise<{ files: number; directories: number; bytes: number }> {
    return JSON.parse(await asking(() => this.#native.totals(path)))
  }

  /** Finds paths by pattern. */
  async glob(pattern: string, query: GlobQuery = {}): Promise<{ entries: WalkEntry[]; cut: Cut }> {
    const call = (): Promise<NativePages> => this.#native.glob(JSON.stringify({ ...query, pattern }))
    const [entries, rest] = await gatheredWith<WalkEntry, { cut: Cut }>(call)
    return { entries, ...rest }
  }

  /** Finds lines by a regular expression of Rust's `regex`, or by literal text. */
  async grep(pattern: string, query: GrepQuery = {}): Promise<GrepResult> {
    const call = (): Promise<NativePages> => this.#native.grep(JSON.stringify({ ...query, pattern }))
    const [files, rest] = await gatheredWith<GrepResult['files'][number], Omit<GrepResult, 'files'>>(call)
    return { files, ...rest }
  }

  #stat(path: string, follow: boolean): Stats {
    return this.#described(calling(() => this.#native.stat(path, follow, this.#fields)))
  }

  /** Returns what a call of the native half has found. */
  #described(id: string): Stats {
    const fields = this.#fields
    const mtimeMs = fields[2]!
    const kind = KINDS[String.fromCharCode(fields[0]!)]!
    return { id, kind, size: fields[1]!, mode: fields[3]!, mtimeMs, mtime: new Date(mtimeMs), birthtimeMs: fields[4]! }
  }
}

/** Returns bytes that are the caller's no longer: they are read on another thread. */
export function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : new Uint8Array(data)
}

function entriesOf(listing: string): Entry[] {
  if (listing === '') return []
  return listing.split('\0').map((item) => ({ name: item.slice(1), kind: KINDS[item[0]!]! }))
}

function nativeOf(options: WriteOptions): NativeWrite {
  const { base, mtimeMs, ...rest } = options
  const given = Object.entries({ ...rest, mtime: mtimeMs }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given)
}
