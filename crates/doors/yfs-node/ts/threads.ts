// Threads: a tree of files for each, with the calls of document 000.

import { asking, calling } from './errors.js'
import { contentOf, type Members, optionalText, optionsOf, requestOf, textOf } from './given.js'
import { outOfRange, wrongType } from './invalid.js'
import type { NativeFileStream, NativeThread, NativeThreads, NativeUpload } from './native.js'

/** The record of a file or directory. */
export interface FileRecord {
  /** From the root of the thread. */
  path: string
  name: string
  mimeType: string
  /** `yfs:` and the id of the file, or the URL of an external file. */
  storage: string
  /** Bytes. */
  size: number
  isDirectory: boolean
  metadata: Record<string, unknown>
  /** Of an image, in pixels: as the metadata says, else as its header does. */
  width?: number
  height?: number
}

/** A piece of a file. */
export interface FileChunk {
  data: Uint8Array
  /** Counted from 0. */
  index: number
  totalChunks: number
  isLast: boolean
}

export interface ReadFileStreamOptions {
  signal?: AbortSignal
}

export interface GrepFilesOptions {
  /** The pattern is a regular expression of Rust's `regex`, and not literal text. */
  regex?: boolean
  ignoreCase?: boolean
  /** Globs of the files to search. */
  include?: string[]
  /** The greatest number of matching lines. */
  limit?: number
}

export interface FileMatches {
  path: string
  matches: { line: number; content: string }[]
}

/** The files with matches, and the files that were not searched because they are not text. */
export interface FoundMatches extends Array<FileMatches> {
  /** How many files are not text. Not enumerable, as `binaryPaths`. */
  readonly binary: number
  /** The paths of the first 20 of these. */
  readonly binaryPaths: readonly string[]
}

export interface FileStats {
  fileCount: number
  directoryCount: number
  totalSize: number
}

/** Where the bytes of an external file are; the hash is `blake3:` or `sha256:` and hexadecimal. */
export interface ExternalFile {
  url: string
  size?: number
  hash?: string
}

/** A picture of an image. */
export interface Thumbnail {
  data: Uint8Array
  mimeType: string
  width: number
  height: number
}

/** What can be written: text, bytes. */
export type FileData = string | ArrayBufferView | ArrayBuffer

/** What can be uploaded: a web stream, or anything that yields pieces. */
export type FileSource = ReadableStream<FileData> | AsyncIterable<FileData> | Iterable<FileData>

/** The description of a thread. */
export interface ThreadInfo extends FileStats {
  id: string
  /** The directory in the workspace. */
  path: string
  createdMs: number
  /** When one of its files last changed. */
  changedMs: number
  archivedMs: number | null
  forkedFrom: string | null
}

/** Whether a thread is archived. */
export interface ArchivedThread {
  id: string
  archivedMs: number | null
}

/** Which threads are kept. */
export interface Retention {
  /** Threads that did not change for longer go. */
  maxAgeMs?: number
  /** While all threads together have more bytes, the one goes that did not change for longest. */
  maxBytes?: number
  /** Archived threads go too. */
  archived?: boolean
  /** Only tells which would go. */
  dryRun?: boolean
}

export interface RetentionReport {
  removed: (ThreadInfo & { reason: 'age' | 'size' })[]
  kept: number
  keptSize: number
}

export interface ThreadsOptions {
  actor?: string
  label?: string
  /**
   * How ids lead to trees: `thread_id`, `task_id`, `flat`, or a template such as
   * `{agent}/{thread_id}`.
   */
  namespace?: string
}

export const THREADS: Members<ThreadsOptions> = {
  actor: 'string',
  label: 'string',
  namespace: 'string',
}

const STREAM: Members<ReadFileStreamOptions> = { signal: 'AbortSignal' }

const GREP: Members<GrepFilesOptions> = {
  regex: 'boolean',
  ignoreCase: 'boolean',
  include: 'string[]',
  limit: 'count',
}

const EXTERNAL: Members<ExternalFile> = { url: 'string', size: 'count', hash: 'string' }

const RETENTION: Members<Retention> = {
  maxAgeMs: 'count',
  maxBytes: 'count',
  archived: 'boolean',
  dryRun: 'boolean',
}

/** The largest side of a thumbnail, in pixels, unless the caller asks for another. */
const THUMBNAIL_SIDE = 256

/** The files of one thread. */
export class ThreadState {
  readonly #native: NativeThread

  /** @internal */
  constructor(native: NativeThread) {
    this.#native = native
  }

  /** The id of the thread. */
  get id(): string {
    return this.#native.id
  }

  /**
   * Writes a file; directories that are missing are made. Members of the metadata that are not
   * given stay, and those that are null are removed.
   */
  async writeFile(
    path: string,
    data: FileData,
    mimeType?: string,
    metadata?: Record<string, unknown>,
  ): Promise<FileRecord> {
    const bytes = bytesOf(data)
    const [mime, members] = [optionalText(mimeType, 'mimeType'), membersOf(metadata)]
    const written = await asking(() => this.#native.writeFile(pathOf(path), bytes, mime, members))
    return recordOf(JSON.parse(written) as WireFile)
  }

  /** Writes a file from a stream. No more than a piece of it is in memory at once. */
  async writeFileStream(
    path: string,
    source: FileSource,
    mimeType?: string,
    metadata?: Record<string, unknown>,
  ): Promise<FileRecord> {
    const at = pathOf(path)
    const [mime, members] = [optionalText(mimeType, 'mimeType'), membersOf(metadata)]
    if (!isIterable(source)) throw wrongType('source', 'an iterable or async iterable', source)
    const upload: NativeUpload = calling(() => this.#native.upload())
    try {
      for await (const piece of source as AsyncIterable<FileData>) {
        const bytes = bytesOf(piece)
        await asking(() => upload.push(bytes))
      }
      const done = await asking(() => this.#native.finishUpload(at, upload, mime, members))
      return recordOf(JSON.parse(done) as WireFile)
    } finally {
      upload.close()
    }
  }

  /** Makes an entry for a file whose bytes are elsewhere. Nothing is fetched. */
  async linkFile(
    path: string,
    external: ExternalFile,
    mimeType?: string,
    metadata?: Record<string, unknown>,
  ): Promise<FileRecord> {
    const { url, size, hash } = optionsOf(external, EXTERNAL, 'external')
    const mime = optionalText(mimeType, 'mimeType')
    const link = { path: pathOf(path), url, size, hash, mime, metadata: checked(metadata) }
    return recordOf(await this.#call('link', link))
  }

  /** Sets members of the metadata; those that are null are removed, and others stay. */
  async patchMetadata(path: string, patch: Record<string, unknown>): Promise<FileRecord> {
    const metadata = checked(patch) ?? {}
    return recordOf(await this.#call('patch', { path: pathOf(path), metadata }))
  }

  /** Reads a file; null if it does not exist or is external. */
  async readFile(path: string): Promise<Uint8Array | null> {
    return asking(() => this.#native.readFile(pathOf(path)))
  }

  /**
   * Reads a file in chunks, in order; null if it does not exist or is external. The stream ends
   * when the signal is aborted. It can be read once.
   */
  async readFileStream(
    path: string,
    options: ReadFileStreamOptions = {},
  ): Promise<AsyncIterable<FileChunk> | null> {
    const { signal } = optionsOf(options, STREAM)
    const opened = await asking(() => this.#native.readFileStream(pathOf(path)))
    return opened && chunksOf(opened, signal)
  }

  /** Returns the record of a file or directory; null if it does not exist. */
  async statFile(path: string): Promise<FileRecord | null> {
    const found = await this.#call<WireFile | null>('stat', { path: pathOf(path) })
    return found && recordOf(found)
  }

  /** Creates a directory, and those above it. */
  async mkdirFile(path: string): Promise<FileRecord> {
    return recordOf(await this.#call('mkdir', { path: pathOf(path) }))
  }

  /** Lists a directory, in the order of the names' code points. */
  async readdirFile(path: string): Promise<{ entries: FileRecord[] }> {
    const listing = await this.#call<{ entries: WireFile[] }>('list', { path: pathOf(path) })
    return { entries: listing.entries.map(recordOf) }
  }

  /** Removes an empty directory. */
  async rmdirFile(path: string): Promise<void> {
    await this.#call('rmdir', { path: pathOf(path) })
  }

  /** Deletes a file. It goes to the trash. */
  async unlinkFile(path: string): Promise<void> {
    await this.#call('unlink', { path: pathOf(path) })
  }

  /** Moves or renames a file or directory. Rejects with `EEXIST` if the new path exists. */
  async moveFile(from: string, to: string): Promise<FileRecord> {
    const [source, target] = [pathOf(from, 'from'), pathOf(to, 'to')]
    return recordOf(await this.#call('move', { from: source, to: target }))
  }

  /** Finds lines with a text. Files that are not text are not searched, but counted and named. */
  async grepFiles(pattern: string, options: GrepFilesOptions = {}): Promise<FoundMatches> {
    const { ignoreCase: ignore_case, ...rest } = optionsOf(options, GREP)
    const asked = { pattern: textOf(pattern, 'pattern'), ignore_case, ...rest }
    const { files, binary, binary_paths } = await this.#call<WireMatches>('grep', asked)
    return Object.defineProperties(files, {
      binary: { value: binary },
      binaryPaths: { value: binary_paths },
    }) as FoundMatches
  }

  /** Finds files by a glob from the root of the thread. */
  async findFiles(pattern: string): Promise<{ paths: string[] }> {
    return this.#call('find', { glob: textOf(pattern, 'pattern') })
  }

  /** Counts the files, the directories and the bytes. */
  async getFileStats(): Promise<FileStats> {
    return statsOf(await this.#call('stats'))
  }

  /**
   * Returns a small picture of an image, in PNG or JPEG; null if the file does not exist, is
   * external, or is no image that can be decoded (PNG, JPEG, GIF, WebP, BMP). Rejects with
   * `ERR_YFS_THUMBNAIL` if the image is damaged or too large.
   */
  async getFileThumbnail(
    path: string,
    options: { maxSide?: number } = {},
  ): Promise<Uint8Array | null> {
    return (await this.getFileThumbnailRecord(path, options))?.data ?? null
  }

  /** Returns the same picture with its type and size. */
  async getFileThumbnailRecord(
    path: string,
    options: { maxSide?: number } = {},
  ): Promise<Thumbnail | null> {
    const { maxSide = THUMBNAIL_SIDE } = optionsOf(options, { maxSide: 'count' })
    if (!Number.isInteger(maxSide) || maxSide < 1 || maxSide > 2048)
      throw outOfRange('options.maxSide', '>= 1 && <= 2048', maxSide)
    return asking(() => this.#native.thumbnail(pathOf(path), maxSide))
  }

  async #call<T>(op: string, request: object = {}): Promise<T> {
    const given = requestOf(op, request)
    return JSON.parse(await asking(() => this.#native.call(given))) as T
  }
}

/** The threads of a workspace. */
export class Threads {
  readonly #native: NativeThreads

  /** @internal */
  constructor(native: NativeThreads) {
    this.#native = native
  }

  /** Opens a thread. Makes it if it does not exist. */
  async open(id: string): Promise<ThreadState> {
    return this.#open('open', { id: idOf(id) })
  }

  /** Opens the thread that values lead to, such as `{ agent, thread_id }`. */
  async openFor(values: Record<string, string>): Promise<ThreadState> {
    if (typeof values !== 'object' || values === null)
      throw wrongType('values', 'of type object', values)
    for (const [name, value] of Object.entries(values)) textOf(value, `values.${name}`)
    return this.#open('open_for', { values })
  }

  /** Creates a thread. Rejects with `ERR_YFS_THREAD_EXISTS` if it exists. */
  async create(id: string): Promise<ThreadState> {
    return this.#open('create', { id: idOf(id) })
  }

  /** Opens a thread. Rejects with `ERR_YFS_NO_THREAD` if it does not exist. */
  async existing(id: string): Promise<ThreadState> {
    return this.#open('existing', { id: idOf(id) })
  }

  /** Makes a thread with the files that another has now. */
  async fork(from: string, to: string): Promise<ThreadState> {
    return this.#open('fork', { from: idOf(from, 'from'), to: idOf(to, 'to') })
  }

  /** Lists the threads. */
  async list(options: { archived?: boolean } = {}): Promise<ThreadInfo[]> {
    const { archived = false } = optionsOf(options, { archived: 'boolean' })
    const { threads } = await this.#call<{ threads: WireThread[] }>('list', { archived })
    return threads.map(infoOf)
  }

  /** Describes a thread. */
  async info(id: string): Promise<ThreadInfo> {
    return infoOf(await this.#call('info', { id: idOf(id) }))
  }

  /** Makes a thread read-only, and leaves it out of lists. */
  async archive(id: string): Promise<ArchivedThread> {
    const thread = await this.#call<WireArchived>('archive', { id: idOf(id) })
    return { id: thread.id, archivedMs: thread.archived }
  }

  /** Reverses `archive`. */
  async unarchive(id: string): Promise<ArchivedThread> {
    const thread = await this.#call<WireArchived>('unarchive', { id: idOf(id) })
    return { id: thread.id, archivedMs: thread.archived }
  }

  /** Moves a thread to the trash. */
  async delete(id: string): Promise<void> {
    await this.#call('delete', { id: idOf(id) })
  }

  /** Restores a thread from the trash. */
  async restore(id: string): Promise<ThreadState> {
    return this.#open('restore', { id: idOf(id) })
  }

  /** Moves the threads to the trash that a retention does not keep. */
  async prune(retention: Retention): Promise<RetentionReport> {
    const { maxAgeMs, maxBytes, archived, dryRun } = optionsOf(retention, RETENTION, 'retention')
    const rules = { older_than_ms: maxAgeMs, max_size: maxBytes, archived, dry_run: dryRun }
    const { removed, kept, kept_bytes } = await this.#call<WireRetention>('prune', rules)
    return {
      removed: removed.map((thread) => ({ ...infoOf(thread), reason: thread.reason })),
      kept,
      keptSize: kept_bytes,
    }
  }

  async #open(op: string, request: object): Promise<ThreadState> {
    const given = requestOf(op, request)
    return new ThreadState(await asking(() => this.#native.open(given)))
  }

  async #call<T>(op: string, request: object): Promise<T> {
    const given = requestOf(op, request)
    return JSON.parse(await asking(() => this.#native.call(given))) as T
  }
}

// The answers of the native half, as `yfs-wire` has them.

interface WireStats {
  id: string
  files: number
  directories: number
  bytes: number
}

interface WireThread extends WireStats {
  path: string
  created: number
  changed: number
  archived: number | null
  forked_from: string | null
}

type WireArchived = Pick<WireThread, 'id' | 'archived'>

interface WireRetention {
  removed: (WireThread & { reason: 'age' | 'size' })[]
  kept: number
  kept_bytes: number
}

interface WireFile extends Pick<FileRecord, 'path' | 'name' | 'storage' | 'size' | 'metadata'> {
  mime: string
  is_directory: boolean
  width: number | null
  height: number | null
}

interface WireMatches {
  files: FileMatches[]
  binary: number
  binary_paths: string[]
}

function statsOf({ files, directories, bytes }: WireStats): FileStats {
  return { fileCount: files, directoryCount: directories, totalSize: bytes }
}

function infoOf(thread: WireThread): ThreadInfo {
  return {
    id: thread.id,
    path: thread.path,
    createdMs: thread.created,
    changedMs: thread.changed,
    archivedMs: thread.archived,
    forkedFrom: thread.forked_from,
    ...statsOf(thread),
  }
}

/** Returns the record of a file. A size in pixels is absent if there is none. */
function recordOf(file: WireFile): FileRecord {
  const { path, name, mime, storage, size, is_directory, metadata, width, height } = file
  const record = { path, name, mimeType: mime, storage, size, isDirectory: is_directory, metadata }
  const pixels = { ...(width !== null && { width }), ...(height !== null && { height }) }
  return { ...record, ...pixels }
}

/** Yields the chunks of a stream until its end, or until the signal is aborted. */
async function* chunksOf(
  opened: NativeFileStream,
  signal: AbortSignal | undefined,
): AsyncGenerator<FileChunk, void, void> {
  const close = (): void => opened.close()
  signal?.addEventListener('abort', close, { once: true })
  try {
    while (!signal?.aborted) {
      const chunk = await asking(() => opened.next())
      if (chunk === null || signal?.aborted) return
      yield chunk
    }
  } finally {
    signal?.removeEventListener('abort', close)
    close()
  }
}

function pathOf(path: unknown, name = 'path'): string {
  return textOf(path, name)
}

function idOf(id: unknown, name = 'id'): string {
  return textOf(id, name)
}

function isIterable(source: unknown): boolean {
  if (source === undefined || source === null) return false
  const of = source as Partial<Iterable<unknown> & AsyncIterable<unknown>>
  return typeof (of[Symbol.asyncIterator] ?? of[Symbol.iterator]) === 'function'
}

function bytesOf(data: unknown): Uint8Array {
  return data instanceof ArrayBuffer ? new Uint8Array(data) : contentOf(data)
}

/** Returns metadata as JSON. */
function membersOf(metadata: unknown): string | null {
  const members = checked(metadata)
  return members && JSON.stringify(members)
}

/** Returns metadata, which is an object; null if there is none. */
function checked(metadata: unknown): object | null {
  if (metadata === undefined || metadata === null) return null
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw wrongType('metadata', 'of type object', metadata)
  return metadata
}
