// A workspace: what a program opens.

import { ARTIFACTS, Artifacts, type ArtifactsOptions } from './artifacts.js'
import { Port } from './document.js'
import { asking, calling } from './errors.js'
import { Files } from './files.js'
import {
  type Members,
  numberOf,
  optionalText,
  optionsOf,
  requestOf,
  textOf,
  textsOf,
  wordOf,
} from './given.js'
import { Weak } from './globals.js'
import { wrongType } from './invalid.js'
import { native, type NativePages, type NativeWatch, type NativeWorkspace } from './native.js'
import { lendNodeFs, type NodeFs, type NodeFsOptions } from './nodefs.js'
import { gathered, gatheredWith } from './pages.js'
import { Peers } from './peers.js'
import { ShellFs, type ShellOptions } from './shell.js'
import { THREADS, type ThreadState, Threads, type ThreadsOptions } from './threads.js'
import type {
  Anchored,
  AuditOptions,
  AuditRecord,
  BlameLine,
  Change,
  Conflict,
  DocumentInfo,
  ExportReport,
  ImportReport,
  LogEntry,
  OpenOptions,
  Quarantined,
  Redacted,
  Redaction,
  Trashed,
  UndoneChange,
  Version,
  Which,
  WorkspaceStats,
  Written,
} from './types.js'

/** A document of a file, as an editor needs it. */
export interface OpenDocument extends DocumentInfo {
  /** States, differences, updates in and out. */
  port: Port
  /** Called when a rename gives the file another category: an editor must bind to another root. */
  on(event: 'change', listener: (info: DocumentInfo) => void): () => void
  close(): void
}

/** A record of an agent, as the native half describes it. */
type WireRecord = Omit<AuditRecord, 'result' | 'reason'> & {
  outcome: Pick<AuditRecord, 'result'> & { reason?: string }
}

const PROFILES = ['gfm', 'commonmark'] as const

const OPEN: Members<OpenOptions> = {
  actor: 'string',
  create: 'boolean',
  profile: PROFILES,
  readOnly: 'boolean',
  docBudget: 'count',
  textBudget: 'count',
  passphrase: 'string',
  keyFile: 'string',
}

/** How to join a shared workspace. The members of its own are for a join code. */
export interface JoinOptions extends Omit<OpenOptions, 'create' | 'readOnly' | 'profile'> {
  /** The relay of the peer that offers the code, as `host` or `host:port`. */
  relay?: string
  /** The address at which a peer offers the code, as `host:port`; nothing is searched then. */
  at?: string
  /** Whether the code is searched in the local network, if no relay has it; true by default. */
  lan?: boolean
}

const JOIN: Members<JoinOptions> = {
  actor: 'string',
  docBudget: 'count',
  textBudget: 'count',
  passphrase: 'string',
  keyFile: 'string',
  relay: 'string',
  at: 'string',
  lan: 'boolean',
}

const SHELL: Members<ShellOptions> = {
  cwd: 'string',
  policy: ['posix', 'collab'],
  actor: 'string',
  label: 'string',
}

const AUDIT: Members<AuditOptions> = {
  session: 'string',
  actor: 'string',
  tool: 'string',
  path: 'string',
  sinceMs: 'number',
  untilMs: 'number',
  failed: 'boolean',
  limit: 'count',
}

type VersionKey = { number?: number; name?: string; at?: number }

const WHICH: Members<VersionKey> = { number: 'number', name: 'string', at: 'number' }

type AnchorSpot = { offset?: number; line?: number }

const SPOT: Members<AnchorSpot> = { offset: 'count', line: 'count' }

const NODE_FS: Members<NodeFsOptions> = { cwd: 'string', actor: 'string', label: 'string' }

/** Objects that live as long as the object that was lent. */
const held = new WeakMap<object, object>()

/** A tree of files that people, agents, tools and other machines change at the same time. */
export class Workspace {
  readonly #native: NativeWorkspace
  readonly #ports = new Set<Port>()
  readonly #watches = new Set<NativeWatch>()
  /** The sources of held-back writes, by the objects that were lent. */
  readonly #lent = new Set<WeakRef<{ flush(): Promise<void> }>>()
  readonly #isReadOnly: boolean
  #closing: Promise<void> | undefined
  /** The files, on behalf of the actor that the workspace was opened for. */
  readonly files: Files
  /** Other stores of this workspace, to which it can be connected without a server. */
  readonly peers: Peers

  private constructor(opened: NativeWorkspace, isReadOnly: boolean) {
    this.#native = opened
    this.#isReadOnly = isReadOnly
    this.files = new Files(opened.files())
    this.peers = new Peers(opened.peers())
  }

  /**
   * Opens the workspace in a file, or creates one there. For a directory it is the one that the
   * `yfs` command uses, in `.yfs/workspace.db`. `:memory:` is deleted when it is closed.
   */
  static async open(file: string, options: OpenOptions = {}): Promise<Workspace> {
    const given = JSON.stringify(optionsOf(options, OPEN))
    const opened = await asking(() => native.NativeWorkspace.open(textOf(file, 'file'), given))
    return new Workspace(opened, options.readOnly ?? false)
  }

  /**
   * Makes a copy of a shared workspace in a file that does not exist, or in a directory, as `open`
   * does. It is empty until `peers.start()` has connected it. With a join code instead of a ticket,
   * the peer that offers it is asked for the ticket; a wrong code is of no use afterwards.
   */
  static async join(ticket: string, file: string, options: JoinOptions = {}): Promise<Workspace> {
    const { relay, at, lan, ...opening } = optionsOf(options, JOIN)
    const [given, search] = [JSON.stringify(opening), JSON.stringify({ relay, at, lan })]
    const joined = await asking(() =>
      native.NativeWorkspace.join(textOf(ticket, 'ticket'), textOf(file, 'file'), given, search),
    )
    return new Workspace(joined, false)
  }

  /** Creates a workspace in memory, synchronously. */
  static inMemory(options: OpenOptions = {}): Workspace {
    const given = JSON.stringify(optionsOf(options, OPEN))
    return new Workspace(
      calling(() => native.NativeWorkspace.inMemory(given)),
      options.readOnly ?? false,
    )
  }

  /** The id of the workspace, which is the guid of its main document. */
  get id(): string {
    return this.#native.id
  }

  /** The schema of the workspace's rich text. */
  get profile(): string {
    return calling(() => this.#native.profile)
  }

  /** Returns the files on behalf of an actor, with a label for its task. */
  filesFor(actor?: string, label?: string): Files {
    const [by, task] = [optionalText(actor, 'actor'), optionalText(label, 'label')]
    return new Files(calling(() => this.#native.files(by, task)))
  }

  /** Returns the workspace as the filesystem of a just-bash shell. */
  asIFileSystem(options: ShellOptions = {}): ShellFs {
    const { actor, label } = optionsOf(options, SHELL)
    const shell = new ShellFs(this.filesFor(actor, label), this.id, options)
    this.#lend(shell)
    return shell
  }

  /** Returns the workspace as `node:fs`, for tools that are given an `fs`. */
  asNodeFs(options: NodeFsOptions = {}): NodeFs {
    const { actor = null, label = null } = optionsOf(options, NODE_FS)
    const files = calling(() => this.#native.files(actor, label))
    const lent = lendNodeFs(files, this.id, this.#isReadOnly, (given) => this.watch(given), options)
    this.#lend(lent)
    // As long as the program holds the one, the other must exist.
    held.set(lent.fs, lent)
    return lent.fs
  }

  /** Returns the threads: trees of files that see nothing of each other. */
  threads(options: ThreadsOptions = {}): Threads {
    const { actor = null, label = null, namespace = null } = optionsOf(options, THREADS)
    return new Threads(calling(() => this.#native.threads(actor, label, namespace)))
  }

  /**
   * Returns a store of artifacts: results that are too large for a model's context. Its metrics,
   * and what it keeps in memory, are those of the returned object.
   */
  artifacts(options: ArtifactsOptions = {}): Artifacts {
    const given = JSON.stringify(optionsOf(options, ARTIFACTS))
    return new Artifacts(calling(() => this.#native.artifacts(given)))
  }

  /** Opens a thread. Makes it if it does not exist. */
  async thread(id: string, options: ThreadsOptions = {}): Promise<ThreadState> {
    return this.threads(options).open(id)
  }

  /** Opens a document by its guid: that of a file, or the workspace's own. */
  async openPort(guid: string, options: { actor?: string } = {}): Promise<Port> {
    const { actor = null } = optionsOf(options, { actor: 'string' })
    const opened = await asking(() => this.#native.port(textOf(guid, 'guid'), actor))
    const port = new Port(opened, (closed) => this.#ports.delete(closed))
    this.#ports.add(port)
    return port
  }

  /** Returns what an editor needs to open a file. */
  async document(path: string): Promise<DocumentInfo> {
    return this.#call('document', { at: textOf(path, 'path') })
  }

  /** Opens the document of a file for an editor or a provider. */
  async openDocument(path: string, options: { actor?: string } = {}): Promise<OpenDocument> {
    optionsOf(options, { actor: 'string' })
    // Taken first, so that no renaming comes between.
    const cursor = await this.cursor()
    const info = await this.document(path)
    const port = await this.openPort(info.guid, options)
    const watches = new Set<AbortController>()
    const on = (event: 'change', listener: (info: DocumentInfo) => void): (() => void) => {
      wordOf(event, ['change'], 'event')
      const watch = new AbortController()
      watches.add(watch)
      void this.#followDocument(info, cursor, watch.signal, listener)
      return () => watch.abort()
    }
    const close = (): void => {
      for (const watch of watches) watch.abort()
      port.close()
    }
    return { ...info, port, on, close }
  }

  /** Returns the path of a file; null if it is in the trash or unknown. */
  async pathOf(id: string): Promise<string | null> {
    return this.#call('path_of', { id: textOf(id, 'id') })
  }

  /** Returns the present position in the log of changes. */
  async cursor(): Promise<string> {
    return this.#call('cursor')
  }

  /** Yields the changes of all writers since this call, or since a cursor. */
  watch(
    options: { cursor?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<Change, void, void> {
    const { cursor, signal } = optionsOf(options, { cursor: 'string', signal: 'AbortSignal' })
    return this.#changesSince(cursor ?? this.files.cursorSync(), signal)
  }

  async *#changesSince(
    since: string,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Change, void, void> {
    let cursor = since
    const watch = calling(() => this.#native.watch())
    const close = (): void => watch.close()
    this.#watches.add(watch)
    signal?.addEventListener('abort', close)
    try {
      while (!signal?.aborted) {
        const answer = await asking(() => watch.next(cursor))
        if (answer === null) return
        const { events, next } = JSON.parse(answer) as {
          events: Omit<Change, 'cursor'>[]
          next: string
        }
        for (const [index, event] of events.entries()) {
          // Only the end of an answer has a cursor of its own; before it, a watcher repeats the
          // answer.
          yield { ...event, cursor: index === events.length - 1 ? next : cursor }
        }
        cursor = next
      }
    } finally {
      signal?.removeEventListener('abort', close)
      this.#watches.delete(watch)
      watch.close()
    }
  }

  /** Lists the trash. */
  async trash(): Promise<Trashed[]> {
    return this.#pages('trash')
  }

  /** Restores a node from the trash, and returns its path. */
  async restore(id: string, to?: string): Promise<string> {
    return this.#call('restore', { id: textOf(id, 'id'), to: optionalText(to, 'to') })
  }

  /** Marks nodes in the trash for deletion, and returns the number of marked rows. */
  async purge(ids: string[]): Promise<number> {
    return this.#call('purge', { ids: textsOf(ids, 'ids') })
  }

  /** Deletes nodes that were marked at least this long ago. */
  async expire(retentionMs: number): Promise<{ rows: number; documents: number; bytes: number }> {
    return this.#call('expire', { retention_ms: numberOf(retentionMs, 'retentionMs') })
  }

  /**
   * Undoes the changes of an actor that have a label, which `filesFor` and the lent filesystems
   * set, and returns one entry for all that was done alike with one file; none if all was undone
   * before. What others changed later is kept. Rejects with `ERR_YFS_NO_LABEL` or
   * `ERR_YFS_OTHER_ACTORS` if the actor has no change with the label.
   */
  async undo(label: string, options: { actor?: string } = {}): Promise<UndoneChange[]> {
    const { actor = null } = optionsOf(options, { actor: 'string' })
    return JSON.parse(await asking(() => this.#native.undo(textOf(label, 'label'), actor)))
  }

  /** Lists what agents did, oldest first, and how many records cannot be read. */
  async audit(options: AuditOptions = {}): Promise<{ records: AuditRecord[]; damaged: number }> {
    const given = JSON.stringify(optionsOf(options, AUDIT))
    const call = (): Promise<NativePages> => asking(() => this.#native.audit(given))
    const [found, rest] = await gatheredWith<WireRecord, { damaged: number }>(call)
    const records = found.map(({ outcome, ...record }) => ({ reason: null, ...record, ...outcome }))
    return { records, ...rest }
  }

  /** Lists the versions of a file, oldest first. */
  async versions(path: string): Promise<Version[]> {
    return this.#pages('versions', { at: textOf(path, 'path') })
  }

  /** Finds a version by number, name or time. */
  async findVersion(path: string, which: Which): Promise<Version | null> {
    const { number, name, at: time } = optionsOf(which as VersionKey, WHICH, 'which')
    return this.#call('find_version', { at: textOf(path, 'path'), number, name, time })
  }

  /** Returns the content of a version. */
  async versionContent(path: string, number: number): Promise<Uint8Array> {
    return asking(() =>
      this.#native.versionContent(textOf(path, 'path'), numberOf(number, 'number')),
    )
  }

  /** Writes the content of a version to its file. */
  async restoreVersion(path: string, number: number): Promise<Written> {
    const request = { at: textOf(path, 'path'), number: numberOf(number, 'number') }
    return this.#call('restore_version', request)
  }

  /** Gives the current version of a file a name. */
  async nameVersion(path: string, name: string): Promise<void> {
    await this.#call('name_version', { at: textOf(path, 'path'), name: textOf(name, 'name') })
  }

  /** Removes a name; returns whether a version had it. */
  async unnameVersion(path: string, name: string): Promise<boolean> {
    return this.#call('unname_version', { at: textOf(path, 'path'), name: textOf(name, 'name') })
  }

  /** Returns the author of each line of a file. */
  async blame(path: string): Promise<BlameLine[]> {
    return this.#pages('blame', { at: textOf(path, 'path') })
  }

  /** Returns the latest changes of a file, or of a directory and everything below it. */
  async log(path = '/', { limit = 50 }: { limit?: number } = {}): Promise<LogEntry[]> {
    return this.#pages('log', { at: textOf(path, 'path'), limit: numberOf(limit, 'limit') })
  }

  /** Lists the conflicts that a person should decide. */
  async conflicts(): Promise<Conflict[]> {
    return this.#pages('conflicts')
  }

  /** Anchors a position in a text, by byte or by line: it follows the text while others write. */
  async anchor(
    path: string,
    spot: { offset: number } | { line: number },
    stick: 'left' | 'right' = 'right',
  ): Promise<string> {
    const { offset, line } = optionsOf(spot as AnchorSpot, SPOT, 'spot')
    const sticks_left = wordOf(stick, ['left', 'right'], 'stick') === 'left'
    return this.#call('anchor', { at: textOf(path, 'path'), offset, line, sticks_left })
  }

  /** Returns the present position of an anchor. */
  async resolveAnchor(anchor: string): Promise<Anchored> {
    return this.#call('resolve_anchor', { anchor: textOf(anchor, 'anchor') })
  }

  /** Imports a file or directory of the host. */
  async import(
    from: string,
    to = '/',
    options: { gitignore?: boolean; hidden?: boolean; maxFileSize?: number } = {},
  ): Promise<ImportReport> {
    const members = { gitignore: 'boolean', hidden: 'boolean', maxFileSize: 'count' } as const
    const paths = { from: textOf(from, 'from'), to: textOf(to, 'to') }
    return this.#call('import', { ...paths, options: optionsOf(options, members) })
  }

  /** Exports a file or directory to a directory of the host. */
  async export(from: string, to: string, options: { force?: boolean } = {}): Promise<ExportReport> {
    const { force = false } = optionsOf(options, { force: 'boolean' })
    return this.#call('export', { from: textOf(from, 'from'), to: textOf(to, 'to'), force })
  }

  /** Returns the size of the workspace. */
  async stats(): Promise<WorkspaceStats> {
    return this.#call('stats')
  }

  /**
   * Converts a file's content to the form that its name asks for, and removes one copy of doubled
   * content. Returns whether the file changed.
   */
  async repair(path: string): Promise<boolean> {
    return this.#call('repair', { at: textOf(path, 'path') })
  }

  /**
   * Converts the rich text of the workspace to another schema. No editor may have any of it open
   * meanwhile.
   */
  async convertProfile(
    profile: 'gfm' | 'commonmark',
  ): Promise<{ files: number; converted: number }> {
    return this.#call('convert_profile', { profile: wordOf(profile, PROFILES, 'profile') })
  }

  /** Returns what `redact` would erase, without a change. */
  async redactable(path: string, options: { version?: number } = {}): Promise<Redacted> {
    const { version } = optionsOf(options, { version: 'number' })
    return this.#call('redactable', { at: textOf(path, 'path'), version })
  }

  /** Erases content from the history of a file: one version, or all. The current content stays. */
  async redact(
    path: string,
    options: { version?: number; reason?: string } = {},
  ): Promise<Redacted> {
    const { version, reason } = optionsOf(options, { version: 'number', reason: 'string' })
    return this.#call('redact', { at: textOf(path, 'path'), version, reason })
  }

  /** Lists the redactions of a file. */
  async redactions(path: string): Promise<Redaction[]> {
    return this.#call('redactions', { at: textOf(path, 'path') })
  }

  /** Lists the rejected updates of peers, oldest first. */
  async quarantined(): Promise<Quarantined[]> {
    return this.#call('quarantined')
  }

  /** Moves a node to another workspace, with ids and history. Here it goes to the trash. */
  async moveTo(path: string, other: Workspace, to: string): Promise<void> {
    if (!(other instanceof Workspace)) throw wrongType('other', 'an instance of Workspace', other)
    await asking(() => this.#native.moveTo(textOf(path, 'path'), other.#native, textOf(to, 'to')))
  }

  /** Replaces the log with snapshots; history stays. */
  async compact(): Promise<void> {
    await this.#call('compact')
  }

  /** Reads what other processes logged; returns whether there was anything. */
  async catchUp(): Promise<boolean> {
    return this.#call('catch_up')
  }

  /** Resolves when everything written so far survives a power cut. */
  async flush(): Promise<void> {
    await this.#call('flush')
  }

  /**
   * Closes the workspace and everything opened from it, and resolves when its files are closed.
   * Acknowledged writes are in the log in any case. A second call waits for the first. Only the
   * first rejects if a held-back write fails.
   */
  async close(): Promise<void> {
    if (this.#closing) return this.#closing.catch(() => undefined)
    this.#closing = this.#close()
    return this.#closing
  }

  async #call<T>(op: string, request: object = {}): Promise<T> {
    const given = requestOf(op, request)
    return JSON.parse(await asking(() => this.#native.call(given))) as T
  }

  async #pages<T>(op: string, request: object = {}): Promise<T[]> {
    const given = requestOf(op, request)
    return gathered(() => this.#native.pages(given))
  }

  async #close(): Promise<void> {
    const failures: unknown[] = []
    for (const lent of this.#lent)
      await lent
        .deref()
        ?.flush()
        .catch((error: unknown) => failures.push(error))
    for (const port of [...this.#ports]) port.close()
    for (const watch of this.#watches) watch.close()
    await asking(() => this.#native.close())
    // A write that was reported as done and is not.
    if (failures.length > 0) throw failures[0]
  }

  /** Registers a source of held-back writes, and forgets those that were collected. */
  #lend(lent: { flush(): Promise<void> }): void {
    for (const other of this.#lent) if (other.deref() === undefined) this.#lent.delete(other)
    this.#lent.add(new Weak(lent))
  }

  async #followDocument(
    opened: DocumentInfo,
    cursor: string,
    signal: AbortSignal,
    listener: (info: DocumentInfo) => void,
  ): Promise<void> {
    let { category, profile, root } = opened
    try {
      for await (const change of this.watch({ cursor, signal })) {
        if (change.id !== opened.guid) continue
        const info = await this.document(change.path).catch(() => null)
        if (
          info === null ||
          (info.category === category && info.profile === profile && info.root === root)
        )
          continue
        ;({ category, profile, root } = info)
        if (!signal.aborted) listener(info)
      }
    } catch {
      // The workspace was closed, and nothing changes any more.
    }
  }
}
