// The session: what there is, and who else is here.

import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import type { EditorUser, EditorWorkspace, FileRow, SchemaProfile } from '../documents'
import { freeColor } from './colors'
import { t } from '../language/translate'
import { fileUrl } from './file_url'
import {
  ListingKeeper,
  loadKeptWorkspace,
  rememberWorkspace,
  type KeptWorkspace,
} from './kept_workspace'
import { isUnnamed, namedToken, takeName } from './link_name'
import { MainSource, otherWorkspace } from './main_source'
import { PartSource } from './part_source'
import { loadPerson, renamePerson } from './person'
import { reasonOf, shorten } from './refusal_words'
import { rowsOfListing } from './rows'
import { NEEDS_SERVER, requestServer, ServerAway } from './server_away'
import type { Peer, SourceListener, WorkspaceSource } from './source'
import {
  claimsOf,
  handToken,
  keepToken,
  keepTokenOfInstalled,
  takeToken,
  type TokenClaims,
} from './token'

export type { Peer } from './source'

export interface TreeEntry {
  path: string
  guid: string
  kind: 'file' | 'directory' | 'symlink'
  size: number
  mtime: number
  /** The root that an editor of the file binds to; absent if the content is not text. */
  root?: 'text' | 'richtext'
}

export interface TrashEntry {
  id: string
  name: string
  kind: 'file' | 'directory' | 'symlink'
  original: string
  trashed_at: number
  trashed_by: string | null
  /** The number of nodes below it. */
  hidden: number
}

/** The answer of `/api/tree`. */
export interface TreeListing {
  workspace: string
  profile: SchemaProfile
  entries: TreeEntry[]
}

/** How long changes of the main document are collected before the listing is read again. */
const REFRESH_MS = 150
/** How long a server that is silent is waited for, if this browser has a listing. */
const PATIENCE_MS = 4000
export class Session implements EditorWorkspace {
  readonly rows: Signal<Map<string, FileRow>> = signal(new Map())
  readonly entries: Signal<TreeEntry[]> = signal([])
  readonly peers: Signal<Peer[]> = signal([])
  readonly isOnline: Signal<boolean>
  /** Why the server does not serve this workspace any more. */
  readonly refusal = signal<string | null>(null)
  readonly person: Signal<EditorUser>
  /** The ids of files, by their paths. */
  readonly idsByPath: ReadonlySignal<Map<string, string>> = computed(
    () => new Map(this.entries.value.map((entry) => [entry.path, entry.guid])),
  )
  readonly pathsById: ReadonlySignal<Map<string, string>> = computed(
    () => new Map(this.entries.value.map((entry) => [entry.guid, entry.path])),
  )
  readonly id: string
  readonly profile: SchemaProfile
  /** What the token covers: the file or the directory; `/` for the whole workspace. */
  readonly scope: string
  private readonly source: WorkspaceSource
  private readonly listings = new ListingKeeper()
  private readonly observers = new Set<() => void>()
  private timer: ReturnType<typeof setTimeout> | undefined
  /** The entity tag of the listing that is shown; null if it was kept in this browser. */
  private etag: string | null = null

  private constructor(
    listing: TreeListing,
    readonly token: string,
    readonly claims: TokenClaims | null,
    person: EditorUser,
    kept: KeptWorkspace | null,
  ) {
    this.id = listing.workspace
    this.profile = listing.profile
    this.scope = claims?.path ?? '/'
    this.entries.value = listing.entries
    this.person = signal(person)
    this.isOnline = signal(kept === null)
    this.source = this.makeSource(kept)
    this.showListing(listing)
    this.announce(null)
    handToken(token)
    void this.source.start(kept)
  }

  /** Whether the token allows reading only. */
  get readOnly(): boolean {
    return this.claims?.rights === 'read'
  }

  /** The directory at the top of the tree. */
  get top(): string {
    const isFile = this.entries.peek().some(({ path }) => path === this.scope)
    return isFile ? this.scope.slice(0, this.scope.lastIndexOf('/')) || '/' : this.scope
  }

  private makeSource(kept: KeptWorkspace | null): WorkspaceSource {
    const listener: SourceListener = {
      onRows: (rows) => {
        this.rows.value = rows
        for (const changed of this.observers) changed()
      },
      onChange: () => this.schedule(),
      onOnline: (isOnline) => (this.isOnline.value = isOnline),
      onPeers: (peers) => this.receivePeers(peers),
      onRefusal: (reason) => (this.refusal.value = reason),
    }
    const { id, token, scope, listings } = this
    if (scope === '/') {
      return new MainSource(id, token, socketOf('/sync'), kept, listener, listings)
    }
    const ask = (path: string, init?: RequestInit) => request(token, path, init)
    return new PartSource(id, scope, ask, listener, listings)
  }

  /** Shows who is there; colors differ among them. */
  private receivePeers(peers: Peer[]): void {
    if (JSON.stringify(peers) !== JSON.stringify(this.peers.peek())) this.peers.value = peers
    const own = this.person.peek()
    const color = freeColor(own, this.source.client, peers)
    if (color === own.color) return
    this.person.value = { ...own, color }
    this.announce(this.openId)
  }

  /**
   * Opens the workspace of this server, or, while the server is away, the workspace that this token
   * opened before.
   */
  static async open(): Promise<Session> {
    const token = await namedToken(await takeToken())
    const claims = claimsOf(token)
    const person = loadPerson(claims?.actor)
    const answer = readListing(token, null)
    answer.catch(() => {
      // It may fail later, when what was kept is already shown.
    })
    const read = await Promise.race([answer, after(PATIENCE_MS)]).catch(awayAsNull)
    if (read === null) {
      const kept = await loadKeptWorkspace(token, claims?.path ?? '/')
      if (kept !== null) return new Session(kept.listing, token, claims, person, kept)
    }
    // Without a tag that is known, an answer is a listing.
    const known = (read ?? (await answer))!
    const listing = JSON.parse(known.text) as TreeListing
    const session = new Session(listing, token, claims, person, null)
    session.etag = known.etag
    session.listings.keep(known.text)
    void rememberWorkspace(token, listing.workspace)
    keepTokenOfInstalled(token)
    return session
  }

  get user(): EditorUser {
    return this.person.value
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    // Requests name paths: in another workspace they would change other files.
    const refusal = this.refusal.peek()
    if (refusal !== null) throw new Error(refusal)
    return request(this.token, path, init)
  }

  documentUrl(id: string): string {
    return `${socketOf('/sync')}/${id}`
  }

  pathOf(id: string): string | null {
    return this.pathsById.peek().get(id) ?? null
  }

  /** Whether the person may take another name: it is the author, so a link for one has its name. */
  get canRename(): boolean {
    return this.claims === null || isUnnamed(this.claims) || (this.scope === '/' && !this.readOnly)
  }

  /** Whether the person may make links for others. */
  get canShare(): boolean {
    return this.claims !== null && !this.readOnly
  }

  /** Takes another name. With a token, the page opens again with the token of that name. */
  async rename(name: string): Promise<void> {
    if (this.token === '') {
      this.person.value = renamePerson(name)
      this.announce(this.openId)
      return
    }
    keepToken(await takeName(this.token, name))
    location.reload()
  }

  /** Says to the others which file is open. */
  announce(open: string | null): void {
    this.openId = open
    this.source.announce(this.person.peek(), open)
  }

  private openId: string | null = null

  /** Calls a function after each change of what there is, until the returned one is called. */
  onChange(changed: () => void): () => void {
    this.observers.add(changed)
    return () => this.observers.delete(changed)
  }

  /** Calls the server, and fails with its reason. */
  async call(method: string, path: string, body?: unknown, about?: string): Promise<Response> {
    const init: RequestInit = { method }
    if (body !== undefined) {
      init.headers = { 'Content-Type': 'application/json' }
      init.body = JSON.stringify(body)
    }
    const response = await this.fetch(path, init)
    if (!response.ok) throw new Error(await reasonOf(response, about))
    return response
  }

  async createFile(path: string): Promise<void> {
    const init = { method: 'PUT', headers: { 'If-None-Match': '*' }, body: '' }
    const response = await this.fetch(fileUrl(path), init).catch(needsServer)
    if (response.status === 412) {
      throw new Error(t('{name} exists already.', { name: shorten(nameIn(path)) }))
    }
    if (!response.ok) throw new Error(await reasonOf(response, path))
    await this.refresh()
  }

  async createDirectory(path: string): Promise<void> {
    await this.call('POST', '/api/mkdir', { path }, path).catch(needsServer)
    await this.refresh()
  }

  async move(from: string, to: string): Promise<void> {
    await this.call('POST', '/api/move', { from, to }, to).catch(needsServer)
    await this.refresh()
  }

  /** Copies a file, or a directory with all below it. */
  async copy(from: string, to: string): Promise<void> {
    await this.call('POST', '/api/copy', { from, to, recursive: true }, to).catch(needsServer)
    await this.refresh()
  }

  async trash(path: string): Promise<void> {
    await this.call('DELETE', `${fileUrl(path)}?recursive=true`, undefined, path).catch(needsServer)
    await this.refresh()
  }

  async listTrash(): Promise<TrashEntry[]> {
    const listed = (await (await this.call('GET', '/api/trash')).json()) as {
      entries: TrashEntry[]
    }
    return listed.entries
  }

  /** Restores from the trash: to the former path, or to another one. */
  async restore(id: string, to?: string): Promise<void> {
    await this.call('POST', '/api/restore', to === undefined ? { id } : { id, to }).catch(
      needsServer,
    )
    await this.refresh()
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      void this.refresh()
    }, REFRESH_MS)
  }

  /** Reads the listing again. If that fails, it is read when the connection is back. */
  async refresh(): Promise<void> {
    const read = await readListing(this.token, this.etag).catch(() => null)
    if (read === null) return
    const listing = JSON.parse(read.text) as TreeListing
    if (listing.workspace !== this.id) {
      this.refusal.value = otherWorkspace()
      return
    }
    this.showListing(listing)
    this.etag = read.etag
    this.listings.keep(read.text)
  }

  private showListing({ entries }: TreeListing): void {
    this.entries.value = entries
    if (this.scope === '/') return
    this.rows.value = rowsOfListing(entries)
    for (const changed of this.observers) changed()
  }
}

const nameIn = (path: string) => path.slice(path.lastIndexOf('/') + 1)

function socketOf(path: string): string {
  return `${location.origin.replace(/^http/, 'ws')}${path}`
}

function request(token: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== '') headers.set('Authorization', `Bearer ${token}`)
  return requestServer(path, { ...init, headers })
}

interface ReadListing {
  text: string
  etag: string | null
}

/** Reads the listing; null if it is the one with this entity tag. */
async function readListing(token: string, known: string | null): Promise<ReadListing | null> {
  const headers = new Headers(known === null ? [] : [['If-None-Match', known]])
  const response = await request(token, '/api/tree', { headers })
  if (response.status === 304) return null
  if (!response.ok) throw new Error(await reasonOf(response))
  return { text: await response.text(), etag: response.headers.get('ETag') }
}

const after = (ms: number) => new Promise<null>((resolve) => setTimeout(resolve, ms, null))

function needsServer(failure: unknown): never {
  throw failure instanceof ServerAway ? new Error(NEEDS_SERVER) : failure
}

function awayAsNull(failure: unknown): null {
  if (failure instanceof ServerAway) return null
  throw failure
}
