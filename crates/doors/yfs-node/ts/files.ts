// The files of a workspace, on behalf of an actor.

import { abortable } from './abort.js'
import {
  CONTEXT,
  type ContextOptions,
  type FileAnalysis,
  PREVIEW,
  type PreviewLimit,
  type PreviewOptions,
  QUERY,
  QUERY_LIMITS,
  type QueryOptions,
  type QueryResults,
  type RenderedContext,
  STATS,
  type StatsOptions,
} from './descriptions.js'
import { asking, calling } from './errors.js'
import {
  contentOf,
  limitOf,
  type Members,
  modeOf,
  numberOf,
  optionsOf,
  requestOf,
  textOf,
  timeOf,
} from './given.js'
import { wrongType } from './invalid.js'
import { type NativeFs, type NativePages, type NativeWrite, queryProgram } from './native.js'
import { each, gathered, gatheredWith } from './pages.js'
import type {
  Content,
  Description,
  Edited,
  Entry,
  GlobQuery,
  GrepQuery,
  GrepResult,
  Kind,
  LinePage,
  SearchLimit,
  Stats,
  WalkEntry,
  WriteOptions,
  Written,
} from './types.js'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

const WRITE: Members<WriteOptions> = {
  create: ['any', 'new', 'never'],
  base: 'content',
  baseVersion: 'string',
  expectedVersion: 'string',
  mode: 'mode',
  mime: 'string',
  mtimeMs: 'number',
  parents: 'boolean',
  follow: 'boolean',
}

const WALK: Members<WalkOptions> = { maxDepth: 'count', hidden: 'boolean' }

const GLOB: Members<GlobQuery> = {
  root: 'string',
  hidden: 'boolean',
  ignoreCase: 'boolean',
  directories: 'boolean',
  limit: 'count',
}

const GREP: Members<GrepQuery> = {
  root: 'string',
  literal: 'boolean',
  ignoreCase: 'boolean',
  wholeWord: 'boolean',
  hidden: 'boolean',
  include: 'string[]',
  exclude: 'string[]',
  before: 'count',
  after: 'count',
  maxPerFile: 'count',
  maxTotal: 'count',
  maxLineLength: 'count',
  useIndex: 'boolean',
  timeoutMs: 'count',
}

/** Options of listings. */
interface WalkOptions {
  maxDepth?: number
  hidden?: boolean
}

/** The kinds, by the letter that the native half uses. */
const KINDS: Record<string, Kind> = { f: 'file', d: 'directory', l: 'symlink' }

/**
 * The files of a workspace, on behalf of an actor. Calls that only read memory also have a
 * synchronous form.
 *
 * The object is a session: the content that it last read as a whole is the base of its next write,
 * so that changes which others made since then stay. A file that it never read is replaced.
 */
export class Files {
  /** Output of a native call: kind, size, mtime, mode, birthtime. */
  readonly #fields = new Float64Array(5)
  readonly #native: NativeFs
  /** How many calls the native half has not answered yet. */
  #nAsked = 0

  /** @internal */
  constructor(native: NativeFs) {
    this.#native = native
  }

  /** Whether a call waits for its answer. @internal */
  get isBusy(): boolean {
    return this.#nAsked > 0
  }

  /** Returns the attributes of the node at a path, through links. */
  statSync(path: string): Stats {
    return this.#stat(path, true)
  }

  /** Returns the attributes of the node at a path; of a link itself if it is one. */
  lstatSync(path: string): Stats {
    return this.#stat(path, false)
  }

  /** Returns the attributes of the node at a path, if there is one. */
  findSync(path: string, follow: boolean): Stats | undefined {
    const id = calling(() => this.#native.find(pathOf(path), follow, this.#fields))
    return id === null ? undefined : this.#described(id)
  }

  /** Returns whether a path leads to a node, through links. */
  existsSync(path: string): boolean {
    try {
      return this.#native.find(pathOf(path), true, this.#fields) !== null
    } catch {
      return false
    }
  }

  /** Lists a directory, in the order of the names' code points. */
  readdirSync(path: string): Entry[] {
    return entriesOf(calling(() => this.#native.readdir(pathOf(path))))
  }

  /** Returns a number that identifies the file and its text, if that is in memory. */
  textStateSync(path: string): number | undefined {
    return calling(() => this.#native.textState(pathOf(path))) ?? undefined
  }

  /** Returns a text, if it is in memory. */
  textSync(path: string): { id: string; version: string; text: string } | undefined {
    const known = calling(() => this.#native.textInMemory(pathOf(path)))
    if (known === null) return undefined
    const [blank, end] = [known.indexOf(' '), known.indexOf('\n')]
    return {
      id: known.slice(0, blank),
      version: known.slice(blank + 1, end),
      text: known.slice(end + 1),
    }
  }

  /** Returns the same session with a label for its changes. */
  labelled(label: string): Files {
    return new Files(this.#native.labelled(textOf(label, 'label')))
  }

  /** Returns the present position in the log of changes. */
  cursorSync(): string {
    return calling(() => this.#native.cursorSync())
  }

  /** Lists every path but the root, each directory before its content. */
  allPathsSync(): Entry[] {
    return entriesOf(calling(() => this.#native.allPaths()))
  }

  /** Returns the path with all links resolved. */
  realpathSync(path: string): string {
    return calling(() => this.#native.realpath(pathOf(path)))
  }

  /** Returns the target of a link. */
  readlinkSync(path: string): string {
    return calling(() => this.#native.readlink(pathOf(path)))
  }

  /** Returns the attributes of the node at a path, through links. */
  async stat(path: string): Promise<Stats> {
    return this.statSync(path)
  }

  /** Returns the attributes of the node at a path; of a link itself if it is one. */
  async lstat(path: string): Promise<Stats> {
    return this.lstatSync(path)
  }

  /** Returns whether a path leads to a node, through links. */
  async exists(path: string): Promise<boolean> {
    return this.existsSync(path)
  }

  /** Lists a directory, in the order of the names' code points. */
  async readdir(path: string): Promise<Entry[]> {
    return this.readdirSync(path)
  }

  /** Returns the path with all links resolved. */
  async realpath(path: string): Promise<string> {
    return this.realpathSync(path)
  }

  /** Returns the target of a link. */
  async readlink(path: string): Promise<string> {
    return this.readlinkSync(path)
  }

  /** Returns the attributes of the node at a path, with media type, metadata and version. */
  async describe(path: string, options: { follow?: boolean } = {}): Promise<Description> {
    const { follow = true } = optionsOf(options, { follow: 'boolean' })
    return JSON.parse(await this.#ask(() => this.#native.describe(pathOf(path), follow)))
  }

  /** Reads a file and its version. */
  async read(path: string): Promise<Content> {
    return this.#ask(() => this.#native.read(pathOf(path)))
  }

  /** Reads up to `limit` lines from line `offset` (counted from 0). */
  async readLines(
    path: string,
    options: { offset?: number; limit?: number } = {},
  ): Promise<LinePage> {
    const { offset = 0, limit = Number.MAX_SAFE_INTEGER } = optionsOf(options, {
      offset: 'count',
      limit: 'count',
    })
    return JSON.parse(await this.#ask(() => this.#native.readLines(pathOf(path), offset, limit)))
  }

  /** Reads up to `length` bytes from `offset`. */
  async readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#ask(() =>
      this.#native.readRange(pathOf(path), numberOf(offset, 'offset'), numberOf(length, 'length')),
    )
  }

  /** Reads a file and its version, without a native call if its text is in memory. */
  async readVersioned(path: string): Promise<Content> {
    const known = this.textSync(path)
    return known ? { data: encoder.encode(known.text), version: known.version } : this.read(path)
  }

  /** Reads a file as bytes. */
  async readFile(path: string): Promise<Uint8Array> {
    return (await this.readVersioned(path)).data
  }

  /** Reads a file as text; invalid UTF-8 becomes U+FFFD. */
  async readText(path: string): Promise<string> {
    return this.textSync(path)?.text ?? decoder.decode((await this.read(path)).data)
  }

  /**
   * Writes `data` as a change of `base`, `baseVersion`, or else of the content that the session
   * read last. Rejects with `ESTALE` if that content is not available any more, or cannot be
   * merged.
   */
  async writeFile(
    path: string,
    data: string | Uint8Array,
    options: WriteOptions = {},
  ): Promise<Written> {
    const given = nativeOf(options)
    const base = options.base === undefined ? null : contentOf(options.base, 'options.base')
    const bytes = contentOf(data)
    return JSON.parse(await this.#ask(() => this.#native.write(pathOf(path), bytes, base, given)))
  }

  /** Adds `data` to the end of a file. */
  async appendFile(
    path: string,
    data: string | Uint8Array,
    options: WriteOptions = {},
  ): Promise<Written> {
    const given = nativeOf(options)
    const bytes = contentOf(data)
    return JSON.parse(await this.#ask(() => this.#native.append(pathOf(path), bytes, given)))
  }

  /** Truncates a file; held back until a write or an append follows, or `settle`. @internal */
  async truncate(path: string): Promise<void> {
    await this.#ask(() => this.#native.truncate(path))
  }

  /** Writes held-back truncations: of one file, or of all. @internal */
  async settle(path?: string): Promise<void> {
    await this.#ask(() => this.#native.settle(path ?? null))
  }

  /**
   * Does the truncation of a file that is held back, unless others have changed the file since it
   * was read; returns whether none is held back any more. @internal
   */
  async settleIfUnchanged(path: string): Promise<boolean> {
    return this.#ask(() => this.#native.settleIfUnchanged(path))
  }

  /** Forgets the base of a file, so that the next write replaces its content. @internal */
  forget(path: string): void {
    calling(() => this.#native.forget(path))
  }

  /** Replaces text in a file, atomically. */
  async edit(
    path: string,
    old: string,
    text: string,
    options: { all?: boolean; expectedVersion?: string } = {},
  ): Promise<Edited> {
    const { all = false, expectedVersion = null } = optionsOf(options, {
      all: 'boolean',
      expectedVersion: 'string',
    })
    const [before, after] = [textOf(old, 'old'), textOf(text, 'text')]
    return JSON.parse(
      await this.#ask(() => this.#native.edit(pathOf(path), before, after, all, expectedVersion)),
    )
  }

  /** Creates a directory. */
  async mkdir(path: string, options: { recursive?: boolean; mode?: number } = {}): Promise<void> {
    const { recursive = false, mode = null } = optionsOf(options, {
      recursive: 'boolean',
      mode: 'mode',
    })
    await this.#change('mkdir', { at: pathOf(path), recursive, mode })
  }

  /** Moves a node to the trash. */
  async rm(path: string, options: { recursive?: boolean; force?: boolean } = {}): Promise<void> {
    const { recursive = false, force = false } = optionsOf(options, {
      recursive: 'boolean',
      force: 'boolean',
    })
    await this.#change('rm', { at: pathOf(path), recursive, force })
  }

  /** Copies a node with mode and time; merges into an existing directory. */
  async cp(
    from: string,
    to: string,
    options: { recursive?: boolean; replace?: boolean } = {},
  ): Promise<void> {
    const { recursive = false, replace = true } = optionsOf(options, {
      recursive: 'boolean',
      replace: 'boolean',
    })
    const paths = { from: pathOf(from, 'from'), to: pathOf(to, 'to') }
    await this.#change('cp', { ...paths, recursive, replace })
  }

  /** Moves or renames a node. A replaced file keeps its id, its editors and its history. */
  async mv(
    from: string,
    to: string,
    options: { replace?: boolean; parents?: boolean } = {},
  ): Promise<void> {
    const { replace = true, parents = true } = optionsOf(options, {
      replace: 'boolean',
      parents: 'boolean',
    })
    const paths = { from: pathOf(from, 'from'), to: pathOf(to, 'to') }
    await this.#change('mv', { ...paths, replace, parents })
  }

  /** Creates a symbolic link. */
  async symlink(target: string, path: string): Promise<void> {
    await this.#change('symlink', { target: textOf(target, 'target'), at: pathOf(path) })
  }

  /** Sets the permission bits. */
  async chmod(path: string, mode: number): Promise<void> {
    await this.#change('chmod', { at: pathOf(path), mode: modeOf(mode, 'mode') })
  }

  /** Sets the time of the last change. */
  async utimes(path: string, mtime: Date | number): Promise<void> {
    await this.#change('utimes', { at: pathOf(path), mtime: timeOf(mtime, 'mtime') })
  }

  /** Replaces the custom metadata. */
  async setMetadata(path: string, metadata: Record<string, unknown>): Promise<void> {
    if (typeof metadata !== 'object' || metadata === null)
      throw wrongType('metadata', 'of type object', metadata)
    await this.#change('set_metadata', { at: pathOf(path), metadata })
  }

  /** Lists the nodes below a directory. */
  async walk(
    path: string,
    options: { maxDepth?: number; hidden?: boolean } = {},
  ): Promise<WalkEntry[]> {
    const { maxDepth = null, hidden = true } = optionsOf(options, WALK)
    return gathered(() => this.#native.walk(pathOf(path), maxDepth, hidden))
  }

  /** Yields the nodes below a directory, for trees that do not fit in memory. */
  async *each(
    path: string,
    options: { maxDepth?: number; hidden?: boolean } = {},
  ): AsyncGenerator<WalkEntry, void, void> {
    const { maxDepth = null, hidden = true } = optionsOf(options, WALK)
    yield* each<WalkEntry>(() => this.#native.walk(pathOf(path), maxDepth, hidden))
  }

  /** Counts the nodes and bytes below a directory. */
  async totals(path: string): Promise<{ files: number; directories: number; bytes: number }> {
    return JSON.parse(await this.#ask(() => this.#native.totals(pathOf(path))))
  }

  /** Finds paths by pattern. */
  async glob(
    pattern: string,
    query: GlobQuery = {},
  ): Promise<{ entries: WalkEntry[]; cut: SearchLimit | null }> {
    const asked = JSON.stringify({
      ...optionsOf(query, GLOB, 'query'),
      pattern: textOf(pattern, 'pattern'),
    })
    const call = (): Promise<NativePages> => this.#native.glob(asked)
    const [entries, rest] = await gatheredWith<WalkEntry, { cut: SearchLimit | null }>(call)
    return { entries, ...rest }
  }

  /** Finds lines by a regular expression of Rust's `regex`, or by literal text. */
  async grep(pattern: string, query: GrepQuery = {}): Promise<GrepResult> {
    const asked = JSON.stringify({
      ...optionsOf(query, GREP, 'query'),
      pattern: textOf(pattern, 'pattern'),
    })
    const call = (): Promise<NativePages> => this.#native.grep(asked)
    const [files, rest] = await gatheredWith<
      GrepResult['files'][number],
      Omit<GrepResult, 'files'>
    >(call)
    return { files, ...rest }
  }

  /**
   * Returns what a file contains: type, counts, columns or schema, and a preview if there is a
   * limit for it. The statistics are kept in the workspace until the file changes.
   */
  async stats(path: string, options: StatsOptions = {}): Promise<FileAnalysis> {
    const { preview, signal } = optionsOf(options, STATS)
    const [at, limit] = [pathOf(path), preview === undefined ? null : limitOf(preview)]
    return JSON.parse(
      await abortable(signal, (cancellation) => this.#native.fileStats(at, limit, cancellation)),
    )
  }

  /** Returns the beginning of a file, or its structure; 300 characters by default. */
  async preview(
    path: string,
    limit: PreviewLimit = { characters: 300 },
    options: PreviewOptions = {},
  ): Promise<string> {
    const { signal } = optionsOf(options, PREVIEW)
    limitOf(limit)
    const asked = signal === undefined ? { preview: limit } : { preview: limit, signal }
    return (await this.stats(path, asked)).preview ?? ''
  }

  /**
   * Describes the files of a tree within a number of tokens, for a model: those that fit with
   * previews, and of the others their number by directory. The same files have the same text.
   */
  async context(options: ContextOptions = {}): Promise<RenderedContext> {
    const { signal, preview, template, ...given } = optionsOf(options, CONTEXT)
    const { paths = ['/'], maxFileSize: max_file_size, maxTokens: max_tokens, ...rest } = given
    const body = { ...rest, paths, max_file_size, max_tokens }
    const asked = JSON.stringify({ body, preview, template })
    return JSON.parse(
      await abortable(signal, (cancellation) => this.#native.context(asked, cancellation)),
    )
  }

  /**
   * Runs a query over a file of JSON, JSON lines, YAML, CSV, TSV or Parquet. It runs in a process
   * of Node of its own, with limits on time, memory and the length of the results, because a query
   * is a program that may loop. Rejects with `ERR_YFS_QUERY` if the query or the file is malformed,
   * and with `ERR_YFS_QUERY_LIMIT` if a limit of time or memory ended it.
   */
  async query<T = unknown>(
    path: string,
    query: string,
    options: QueryOptions = {},
  ): Promise<QueryResults<T>> {
    const { signal, nodePath, ...given } = optionsOf(options, QUERY)
    const at = pathOf(path)
    const asked = JSON.stringify({
      ...QUERY_LIMITS,
      ...given,
      text: textOf(query, 'query'),
      ...queryProgram(nodePath),
    })
    const call = (): Promise<NativePages> =>
      abortable(signal, (cancellation) => this.#native.query(at, asked, cancellation))
    const [results, rest] = await gatheredWith<T, { truncated: boolean }>(call)
    return { results, ...rest }
  }

  async #ask<T>(call: () => Promise<T>): Promise<T> {
    this.#nAsked += 1
    try {
      return await asking(call)
    } finally {
      this.#nAsked -= 1
    }
  }

  async #change(op: string, request: object): Promise<void> {
    const given = requestOf(op, request)
    await this.#ask(() => this.#native.change(given))
  }

  #stat(path: string, follow: boolean): Stats {
    return this.#described(calling(() => this.#native.stat(pathOf(path), follow, this.#fields)))
  }

  /** Returns the output of a native call. */
  #described(id: string): Stats {
    const fields = this.#fields
    const mtimeMs = fields[2]!
    const kind = KINDS[String.fromCharCode(fields[0]!)]!
    return {
      id,
      kind,
      size: fields[1]!,
      mode: fields[3]!,
      mtimeMs,
      mtime: new Date(mtimeMs),
      birthtimeMs: fields[4]!,
    }
  }
}

function pathOf(path: unknown, name = 'path'): string {
  return textOf(path, name)
}

function entriesOf(listing: string): Entry[] {
  if (listing === '') return []
  return listing.split('\0').map((item) => ({ name: item.slice(1), kind: KINDS[item[0]!]! }))
}

function nativeOf(options: WriteOptions): NativeWrite {
  const { base, mtimeMs, ...rest } = optionsOf(options, WRITE)
  const given = Object.entries({ ...rest, mtime: mtimeMs }).filter(
    ([, value]) => value !== undefined,
  )
  return Object.fromEntries(given)
}
