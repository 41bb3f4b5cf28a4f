// Artifacts: results that are too large for a model's context, as files with references. The shapes
// of references and responses are those of document 004, so those of Rust, of the `yfs` command and
// of a server can be resolved here, and the other way round.

import type { ContentStats, PreviewLimit } from './descriptions.js'
import { asking, calling } from './errors.js'
import { contentOf, type Members, optionsOf, requestOf, textOf } from './given.js'
import { wrongType } from './invalid.js'
import { native, type NativeArtifacts } from './native.js'

/** A reference to a stored file: what is known of it without reading it. */
export interface FileMetadata {
  /** The name of the file. */
  file_id: string
  /** The path, from the root of the artifacts. */
  relative_path: string
  /** Bytes. */
  size: number
  content_type: string | null
  /** The beginning of the content, or its structure. */
  preview: string | null
  stats: ContentStats
  /** BLAKE3 in hexadecimal. */
  checksum: string | null
}

/** A reference to a file in place of a result. */
export interface FileReference {
  FileReference: { metadata: FileMetadata; preview: string | null }
}

/** The content of a tool's response: the result itself, or a reference to the file with it. */
export type ToolResponseContent<R = unknown> = { Direct: { result: R } } | FileReference

/** The response of a tool. */
export interface ToolResponse<R = unknown> {
  tool_call_id: string
  tool_name: string
  content: ToolResponseContent<R>
}

/** The ids of the call that a result is of. */
export interface ArtifactIds {
  threadId: string
  taskId: string
  toolCallId: string
}

/** A stored result. */
export interface StoredResult<R = unknown> {
  content: ToolResponseContent<R>
  /** Why the file is only in memory so far, or why a large result stayed a value. */
  warning: string | null
}

/** Which results become files, and how they are shown. */
export interface ArtifactsOptions {
  actor?: string
  label?: string
  /** The directory of all artifacts; `/artifacts` by default. */
  root?: string
  /** The directory below which files are searched that were moved; `/` by default. */
  searchRoot?: string
  /**
   * The size above which a result becomes a file: 10, 50 (default) or 100 KB. `highMemory` is the
   * earlier name of `high_memory`.
   */
  preset?: 'development' | 'production' | 'high_memory' | 'highMemory'
  /** Another size, in bytes. */
  sizeThreshold?: number
  /** The estimated number of tokens above which a result becomes a file, too. */
  tokenThreshold?: number
  /**
   * Where a file is put: `thread_id` (default), `task_id`, `flat`, `runs`, or a template of
   * `{thread_id}`, `{task_id}` and `{tool_call_id}` that ends in `{file_id}`.
   */
  namespace?: string
  /** The length of the previews in references; 300 characters by default. */
  preview?: PreviewLimit
  /** The bytes of results that are kept in memory while files cannot be written; 64 MiB. */
  maxPendingBytes?: number
}

/** A file below the root of the artifacts. */
export interface StoredArtifact {
  /** Where it is in the workspace. */
  path: string
  /** The path that references name. */
  artifact: string
  /** Bytes. */
  size: number
  mime: string | null
  changedMs: number
}

/** Which artifacts are removed, the oldest first. */
export interface CleanupPolicy {
  /** Those that did not change for longer. */
  maxAgeMs?: number
  /** Until the rest has no more bytes. */
  maxTotalBytes?: number
  /** Until the rest is no more files. */
  maxFiles?: number
  /** Directories below the root in which nothing is removed. */
  keptDirectories?: string[]
  /** Only reports what would be removed. */
  dryRun?: boolean
}

export interface CleanupReport {
  /** They are in the trash. */
  removed: { path: string; size: number; reason: 'age' | 'size' | 'files' }[]
  freedBytes: number
  /** What could not be removed. */
  failed: { path: string; code: string }[]
  dryRun: boolean
}

/** What a store has done since it was made. */
export interface ArtifactMetrics {
  /** Results that stayed values. */
  nDirect: number
  /** Results that became files. */
  nStored: number
  /** Those of them whose file was there already, with the same content. */
  nDeduplicated: number
  bytesStored: number
  /** The estimated tokens that references took less than their results. */
  savedTokens: number
  nResolved: number
  nMissing: number
  nCorrupt: number
  /** Files that are not written yet. */
  nPending: number
}

export const ARTIFACTS: Members<ArtifactsOptions> = {
  actor: 'string',
  label: 'string',
  root: 'string',
  searchRoot: 'string',
  preset: ['development', 'production', 'high_memory', 'highMemory'],
  sizeThreshold: 'count',
  tokenThreshold: 'count',
  namespace: 'string',
  preview: 'PreviewLimit',
  maxPendingBytes: 'count',
}

const IDS: Members<ArtifactIds> = { threadId: 'string', taskId: 'string', toolCallId: 'string' }

const CLEANUP: Members<CleanupPolicy> = {
  maxAgeMs: 'count',
  maxTotalBytes: 'count',
  maxFiles: 'count',
  keptDirectories: 'string[]',
  dryRun: 'boolean',
}

const decoder = new TextDecoder()

/** A store of artifacts in a workspace. */
export class Artifacts {
  readonly #native: NativeArtifacts

  /** @internal */
  constructor(opened: NativeArtifacts) {
    this.#native = opened
  }

  /**
   * Stores a result: bytes, a text, or any other value as its JSON. A small one is returned as it
   * is, and a large one as a reference to its file. If the file cannot be written, the content is
   * kept in memory with a warning, and later calls write it; closing the workspace drops it.
   */
  async store<R>(result: R, ids: ArtifactIds): Promise<StoredResult<R>> {
    const [content, given] = [resultBytes(result), idsOf(ids)]
    const { metadata, warning } = JSON.parse(
      await asking(() => this.#native.storeContent(content, given)),
    ) as { metadata: FileMetadata | null; warning: string | null }
    if (metadata === null) return { content: { Direct: { result } }, warning }
    return { content: { FileReference: { metadata, preview: metadata.preview } }, warning }
  }

  /** Stores a content as a file, however small, and returns its reference. */
  async storeFile(content: string | ArrayBufferView, ids: ArtifactIds): Promise<FileMetadata> {
    const [bytes, given] = [contentOf(content, 'content'), idsOf(ids)]
    return JSON.parse(await asking(() => this.#native.storeFile(bytes, given)))
  }

  /**
   * Replaces a large result in a response by a reference. The warning is that of `store`.
   */
  async process<R>(
    response: ToolResponse<R>,
    threadId: string,
    taskId: string,
  ): Promise<{ response: ToolResponse<R>; warning: string | null }> {
    if (typeof response?.content !== 'object' || response.content === null)
      throw wrongType('response.content', 'of type object', response?.content)
    if (!('Direct' in response.content)) return { response, warning: null }
    const toolCallId = response.tool_call_id
    const { result } = response.content.Direct
    const { content, warning } = await this.store(result, { threadId, taskId, toolCallId })
    return { response: { ...response, content }, warning }
  }

  /**
   * Returns the content of a reference as it was stored, also after a move or an edit of its file.
   * Rejects with `ENOENT` if the file is gone, and with `EIO` if no version of it has the hash.
   */
  async resolve(reference: FileMetadata | FileReference): Promise<Uint8Array> {
    const given = referenceOf(reference)
    return asking(() => this.#native.resolve(given))
  }

  /** Returns the content of a reference as a value: JSON parsed, and any other as text. */
  async resolveValue(reference: FileMetadata | FileReference): Promise<unknown> {
    const text = decoder.decode(await this.resolve(reference))
    const { content_type } = metadataOf(reference)
    return content_type === 'application/json' ? JSON.parse(text) : text
  }

  /** Returns where the file of a reference is in the workspace. */
  async pathNow(reference: FileMetadata | FileReference): Promise<string> {
    return this.#call('path_now', { reference: checked(reference) })
  }

  /** Moves the file of a reference to the trash. */
  async deleteFile(reference: FileMetadata | FileReference): Promise<void> {
    await this.#call('delete', { reference: checked(reference) })
  }

  /**
   * Returns the reference to a file as it is now, as `yfs artifact show` does: by the path that
   * references name, or by its path in the workspace, which begins with a slash.
   */
  async referenceAt(artifact: string): Promise<FileMetadata> {
    if (textOf(artifact, 'artifact').startsWith('/'))
      return this.#call('show_at', { path: artifact })
    return this.#call('show', { artifact })
  }

  /** Lists the artifacts in the order of their paths; patterns are as in `.gitignore`. */
  async list(...patterns: string[]): Promise<StoredArtifact[]> {
    const given = { patterns: patterns.map((pattern) => textOf(pattern, 'pattern')) }
    const { artifacts } = await this.#call<{ artifacts: WireArtifact[] }>('list', given)
    return artifacts.map(({ changed, ...artifact }) => ({ ...artifact, changedMs: changed }))
  }

  /** Moves old artifacts to the trash. Without a limit none is. */
  async cleanUp(policy: CleanupPolicy): Promise<CleanupReport> {
    const { maxAgeMs, maxTotalBytes, maxFiles, keptDirectories, dryRun } = optionsOf(
      policy,
      CLEANUP,
      'policy',
    )
    const { freed_bytes, dry_run, ...report } = await this.#call<WireCleanup>('clean', {
      older_than_ms: maxAgeMs,
      max_size: maxTotalBytes,
      max_files: maxFiles,
      keep: keptDirectories,
      dry_run: dryRun,
    })
    return { ...report, freedBytes: freed_bytes, dryRun: dry_run }
  }

  /** Writes the contents that are only in memory, and returns how many were written. */
  async writePending(): Promise<number> {
    return asking(() => this.#native.writePending())
  }

  /** Returns what the store has done. */
  metrics(): ArtifactMetrics {
    return JSON.parse(calling(() => this.#native.metrics()))
  }

  async #call<T>(op: string, request: object): Promise<T> {
    const given = requestOf(op, request)
    return JSON.parse(await asking(() => this.#native.call(given))) as T
  }
}

// The answers of the native half, as `yfs-wire` has them.

type WireArtifact = Omit<StoredArtifact, 'changedMs'> & { changed: number }

type WireCleanup = Pick<CleanupReport, 'removed' | 'failed'> & {
  freed_bytes: number
  dry_run: boolean
}

/** Returns the text that stands for a content in a model's context. */
export function contextText(content: ToolResponseContent): string {
  return textsOf(content)[0]
}

/**
 * Returns the result as callers got it before there were references: of a reference, an object with
 * the file, its size, type, preview and summary.
 */
export function resultOf(content: ToolResponseContent): unknown {
  if (typeof content !== 'object' || content === null)
    throw wrongType('content', 'of type object', content)
  return 'Direct' in content ? content.Direct.result : JSON.parse(textsOf(content)[1])
}

/** Returns what to know of a stored file before reading it. */
export function extractContext(reference: FileMetadata | FileReference): string {
  const given = referenceOf(reference)
  return calling(() => native.NativeArtifacts.contextOf(given))
}

function textsOf(content: ToolResponseContent): [string, string] {
  if (typeof content !== 'object' || content === null)
    throw wrongType('content', 'of type object', content)
  return calling(() => native.NativeArtifacts.textsOf(JSON.stringify(content))) as [string, string]
}

function metadataOf(reference: FileMetadata | FileReference): FileMetadata {
  return 'FileReference' in reference ? reference.FileReference.metadata : reference
}

function referenceOf(reference: FileMetadata | FileReference): string {
  return JSON.stringify(checked(reference))
}

function checked(reference: FileMetadata | FileReference): FileMetadata | FileReference {
  if (typeof reference !== 'object' || reference === null)
    throw wrongType('reference', 'of type object', reference)
  return reference
}

function idsOf(ids: ArtifactIds): string {
  const given = optionsOf(ids, IDS, 'ids')
  for (const name of Object.keys(IDS)) textOf(given[name as keyof ArtifactIds], `ids.${name}`)
  return JSON.stringify(given)
}

/** Returns the bytes of a result. */
function resultBytes(result: unknown): Uint8Array {
  if (typeof result === 'string' || ArrayBuffer.isView(result)) return contentOf(result, 'result')
  if (result instanceof ArrayBuffer) return new Uint8Array(result)
  const json = JSON.stringify(result) as string | undefined
  if (json === undefined) throw wrongType('result', 'a value that JSON has', result)
  return contentOf(json, 'result')
}
