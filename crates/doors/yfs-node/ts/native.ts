// The native half: finds the addon, and says what it exports (`src/` of this package, in Rust).

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the addon is called. */
const ADDON = 'yfs.node'

export interface NativeContent {
  data: Uint8Array
  version: string
}

export interface NativeWrite {
  create?: string
  baseVersion?: string
  expectedVersion?: string
  mode?: number
  mime?: string
  mtime?: number
  parents?: boolean
  follow?: boolean
}

export interface NativeFs {
  stat(at: string, follow: boolean, fields: Float64Array): string
  find(at: string, follow: boolean, fields: Float64Array): string | null
  labelled(label: string): NativeFs
  readdir(at: string): string
  allPaths(): string
  realpath(at: string): string
  readlink(at: string): string
  textInMemory(at: string): string | null
  textState(at: string): number | null
  describe(at: string, follow: boolean): Promise<string>
  read(at: string): Promise<NativeContent>
  readRange(at: string, offset: number, len: number): Promise<Uint8Array>
  readLines(at: string, offset: number, limit: number): Promise<string>
  write(
    at: string,
    data: Uint8Array,
    base: Uint8Array | null,
    options: NativeWrite,
  ): Promise<string>
  append(at: string, data: Uint8Array, options: NativeWrite): Promise<string>
  truncate(at: string): Promise<void>
  settle(at?: string | null): Promise<void>
  settleIfUnchanged(at: string): Promise<boolean>
  forget(at: string): void
  edit(
    at: string,
    old: string,
    text: string,
    all: boolean,
    expectedVersion?: string | null,
  ): Promise<string>
  change(change: string): Promise<void>
  walk(at: string, maxDepth: number | null, hidden: boolean): Promise<NativePages>
  totals(at: string): Promise<string>
  glob(query: string): Promise<NativePages>
  grep(query: string): Promise<NativePages>
  fileStats(
    at: string,
    preview: string | null,
    cancellation: NativeCancellation | null,
  ): Promise<string>
  context(options: string, cancellation: NativeCancellation | null): Promise<string>
  query(at: string, options: string, cancellation: NativeCancellation | null): Promise<NativePages>
  flush(): Promise<void>
  readSync(at: string): NativeContent
  writeSync(at: string, data: Uint8Array, base: Uint8Array | null, options: NativeWrite): string
  appendSync(at: string, data: Uint8Array, options: NativeWrite): string
  truncateSync(at: string): void
  settleSync(at?: string | null): void
  changeSync(change: string): void
  pathOf(id: string): string | null
  cursorSync(): string
  flushSync(): void
  version(at: string): string
}

export interface NativePages {
  readonly rest: string
  next(): string | null
}

export interface NativeCancellation {
  cancel(): void
}

export interface NativeArtifacts {
  call(request: string): Promise<string>
  storeContent(content: Uint8Array, ids: string): Promise<string>
  storeFile(content: Uint8Array, ids: string): Promise<string>
  resolve(reference: string): Promise<Uint8Array>
  writePending(): Promise<number>
  metrics(): string
}

export interface NativePort {
  readonly guid: string
  stateVector(): Promise<Uint8Array>
  diff(stateVector: Uint8Array): Promise<Uint8Array>
  receive(update: Uint8Array): Promise<void>
  next(): Promise<{ update?: Uint8Array | null } | null>
  close(): void
}

export interface NativeWatch {
  next(since: string): Promise<string | null>
  close(): void
}

export interface NativeFileStream {
  next(): Promise<{
    data: Uint8Array
    index: number
    totalChunks: number
    isLast: boolean
  } | null>
  close(): void
}

export interface NativeUpload {
  push(data: Uint8Array): Promise<void>
  close(): void
}

export interface NativeThread {
  readonly id: string
  call(request: string): Promise<string>
  writeFile(
    at: string,
    data: Uint8Array,
    mime: string | null,
    metadata: string | null,
  ): Promise<string>
  upload(): NativeUpload
  finishUpload(
    at: string,
    upload: NativeUpload,
    mime: string | null,
    metadata: string | null,
  ): Promise<string>
  readFile(at: string): Promise<Uint8Array | null>
  readFileStream(at: string): Promise<NativeFileStream | null>
  thumbnail(
    at: string,
    maxSide: number,
  ): Promise<{ data: Uint8Array; mimeType: string; width: number; height: number } | null>
}

export interface NativeThreads {
  call(request: string): Promise<string>
  open(opening: string): Promise<NativeThread>
}

export interface NativePeerEvents {
  next(): Promise<string | null>
  close(): void
}

export interface NativePeers {
  readonly isRunning: boolean
  start(options: string): Promise<string>
  stop(): Promise<void>
  id(): Promise<string>
  share(options: string): Promise<string>
  shares(): Promise<string>
  list(): Promise<string>
  rename(peer: string, name: string): Promise<void>
  block(target: string): Promise<boolean>
  unblock(peer: string): Promise<void>
  forget(peer: string): Promise<void>
  events(): NativePeerEvents
}

export interface NativeWorkspace {
  readonly id: string
  readonly profile: string
  threads(actor?: string | null, label?: string | null, strategy?: string | null): NativeThreads
  files(actor?: string | null, label?: string | null): NativeFs
  artifacts(options: string): NativeArtifacts
  peers(): NativePeers
  port(guid: string, actor?: string | null): Promise<NativePort>
  call(request: string): Promise<string>
  pages(request: string): Promise<NativePages>
  watch(): NativeWatch
  undo(label: string, actor: string | null): Promise<string>
  audit(options: string): Promise<NativePages>
  versionContent(at: string, number: number): Promise<Uint8Array>
  moveTo(from: string, other: NativeWorkspace, to: string): Promise<void>
  close(): Promise<void>
}

interface Native {
  NativeWorkspace: {
    open(file: string, options: string): Promise<NativeWorkspace>
    join(text: string, file: string, options: string, search: string): Promise<NativeWorkspace>
    inMemory(options: string): NativeWorkspace
  }
  NativeCancellation: new () => NativeCancellation
  NativeArtifacts: {
    textsOf(content: string): string[]
    contextOf(reference: string): string
  }
}

/** Where the addon is. */
const addonFile = findAddon()

/** The addon. It is loaded when this module is: a sandbox around a shell may forbid that later. */
export const native = createRequire(addonFile)(addonFile) as Native

/** Runs one query in a process that does nothing else. */
const SERVE_QUERY = 'process.exit(require(process.argv[1]).NativeFs.serveQuery())'

/** Returns the command that runs queries. It needs no file but the addon, so a bundle has it. */
export function queryProgram(nodePath?: string): { program: string; arguments: string[] } {
  if (nodePath === undefined && process.versions.electron !== undefined)
    throw new TypeError('in Electron, options.nodePath must be the path of a program of Node')
  return { program: nodePath ?? process.execPath, arguments: ['-e', SERVE_QUERY, addonFile] }
}

/** Returns where `YFS_NODE_ADDON` says that the addon is, or the first place that has it. */
function findAddon(): string {
  const named = process.env.YFS_NODE_ADDON
  const places = named === undefined ? [...new Set(addonPlaces())] : [named]
  const file = places.find((place) => existsSync(place))
  if (file === undefined) {
    throw new Error(
      `the native half of yfs is not at ${places.join(', ')}: ` +
        'build it with cargo build -p yfs-node --release, and copy it there',
    )
  }
  return resolve(file)
}

/**
 * Yields the paths where the addon may be. A bundler moves this module into another file, without
 * the addon: then the addon is beside the bundle, or in the package that is installed above it.
 */
function* addonPlaces(): Generator<string, void, void> {
  for (const module of moduleFiles()) {
    yield join(dirname(module), '..', ADDON)
    yield join(dirname(module), '..', 'prebuilds', `${process.platform}-${process.arch}`, ADDON)
    yield join(dirname(module), ADDON)
  }
  for (const module of moduleFiles()) {
    try {
      yield createRequire(module).resolve(`yfs/${ADDON}`)
    } catch {
      // No such package is installed above.
    }
  }
}

/**
 * Yields the files that may contain this module, as far as a bundler keeps them, and the program.
 */
function* moduleFiles(): Generator<string, void, void> {
  // Of CommonJS, bundlers leave the one undefined; of modules, the other is.
  const { url } = import.meta as { url?: string }
  if (url?.startsWith('file:')) yield fileURLToPath(url)
  if (typeof __filename === 'string' && isAbsolute(__filename)) yield __filename
  if (process.argv[1] !== undefined && isAbsolute(process.argv[1])) yield process.argv[1]
}
