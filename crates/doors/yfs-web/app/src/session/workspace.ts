// The session: the main document, the listing of the server, and who else is here.

import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import type { EditorUser, EditorWorkspace, FileRow, SchemaProfile } from '../documents'
import { openBrowserCopy } from '../documents/browser_copy'
import { checkPresence } from '../documents/presence'
import { t } from '../language/translate'
import {
  ListingKeeper,
  loadKeptWorkspace,
  mainDatabase,
  rememberWorkspace,
  type KeptWorkspace,
} from './kept_workspace'
import { loadPerson, renamePerson } from './person'
import { fileUrl } from './file_url'
import { reasonOf, shorten } from './refusal_words'
import { rowsOf } from './rows'
import { NEEDS_SERVER, requestServer, ServerAway } from './server_away'
import { claimsOf, keepTokenOfInstalled, takeToken } from './token'

export interface TreeEntry {
  path: string
  guid: string
  kind: 'file' | 'directory' | 'symlink'
  size: number
  mtime: number
}

export interface Peer {
  client: number
  name: string
  color: string
  /** The id of the file that the person has open. */
  open: string | null
}

export interface TrashEntry {
  id: string
  name: string
  original: string
  trashed_at: number
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
/** How often a server that refuses is asked again: it may be another one for a while. */
const RETRY_MS = 5000
/** The close code for a document that the server does not have. */
const NO_SUCH_DOCUMENT = 4404
/** The close code for a token that does not cover it. */
const FORBIDDEN = 4403

const OTHER_WORKSPACE =
  'Another workspace is at this address now. Changes of this one wait in this browser.'

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
  private readonly main: Y.Doc
  private readonly provider: WebsocketProvider
  private readonly listings = new ListingKeeper()
  private timer: ReturnType<typeof setTimeout> | undefined
  /** The entity tag of the listing that is shown; null if it was kept in this browser. */
  private etag: string | null = null

  private constructor(
    listing: TreeListing,
    readonly token: string,
    readonly readOnly: boolean,
    person: EditorUser,
    kept: KeptWorkspace | null,
  ) {
    this.id = listing.workspace
    this.profile = listing.profile
    this.entries.value = listing.entries
    this.person = signal(person)
    this.isOnline = signal(kept === null)
    const main = kept?.main ?? new Y.Doc({ guid: this.id })
    this.main = main
    this.provider = new WebsocketProvider(socketOf('/sync'), this.id, main, {
      connect: false,
      params: token === '' ? {} : { token },
      disableBc: true,
    })
    checkPresence(this.provider)
    this.rows.value = rowsOf(main)
    main.on('update', () => {
      this.rows.value = rowsOf(main)
      this.schedule()
    })
    this.observeConnection()
    this.announce(null)
    void this.connect(main, kept)
  }

  /**
   * Opens the workspace of this server, or, while the server is away, the workspace that this token
   * opened before.
   */
  static async open(): Promise<Session> {
    const token = takeToken()
    const claims = claimsOf(token)
    if (claims !== null && claims.path !== '/') {
      throw new Error(`The link opens ${claims.path} only; the editor needs the whole workspace.`)
    }
    const person = loadPerson(claims?.actor)
    const isReader = claims?.rights === 'read'
    const answer = readListing(token, null)
    answer.catch(() => {
      // It may fail later, when what was kept is already shown.
    })
    const read = await Promise.race([answer, after(PATIENCE_MS)]).catch(awayAsNull)
    if (read === null) {
      const kept = await loadKeptWorkspace(token)
      if (kept !== null) return new Session(kept.listing, token, isReader, person, kept)
    }
    // Without a tag that is known, an answer is a listing.
    const known = (read ?? (await answer))!
    const listing = JSON.parse(known.text) as TreeListing
    const session = new Session(listing, token, isReader, person, null)
    session.etag = known.etag
    session.listings.keep(known.text)
    void rememberWorkspace(token, listing.workspace)
    keepTokenOfInstalled(token)
    return session
  }

  /** Loads what this browser has before it connects, so that only what is new is sent. */
  private async connect(main: Y.Doc, kept: KeptWorkspace | null): Promise<void> {
    const copy = kept?.copy ?? (await openBrowserCopy(mainDatabase(this.id), main))
    if (copy !== null) this.listings.setCopy(copy)
    this.provider.connect()
  }

  private observeConnection(): void {
    this.provider.on('status', ({ status }) => {
      if (status === 'connected') {
        this.isOnline.value = true
        this.schedule()
      }
    })
    this.provider.on('connection-close', () => {
      this.isOnline.value = false
      this.listings.write()
    })
    this.provider.on('closed', ({ code, reason }) => {
      this.refusal.value =
        code === NO_SUCH_DOCUMENT
          ? OTHER_WORKSPACE
          : `The server refuses this page: ${reason || code}. Changes wait in this browser.`
      if (code !== FORBIDDEN) setTimeout(() => this.provider.connect(), RETRY_MS)
    })
    this.provider.on('sync', (isSynced: boolean) => {
      if (isSynced) this.refusal.value = null
    })
    this.provider.awareness.on('change', () => {
      this.peers.value = this.listPeers()
    })
  }

  get user(): EditorUser {
    return this.person.peek()
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

  rename(name: string): void {
    this.person.value = renamePerson(name)
    this.announce(this.openId)
  }

  /** Says to the others which file is open. */
  announce(open: string | null): void {
    this.openId = open
    this.provider.awareness.setLocalState({ user: this.person.peek(), open })
  }

  private openId: string | null = null

  /** Calls a function after each change of the main document, until the returned one is called. */
  onChange(changed: () => void): () => void {
    this.main.on('update', changed)
    return () => this.main.off('update', changed)
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

  async restore(id: string): Promise<void> {
    await this.call('POST', '/api/restore', { id }).catch(needsServer)
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
      this.refusal.value = OTHER_WORKSPACE
      return
    }
    this.entries.value = listing.entries
    this.etag = read.etag
    this.listings.keep(read.text)
  }

  private listPeers(): Peer[] {
    const { awareness } = this.provider
    const states = [...awareness.getStates()].filter(([client]) => client !== awareness.clientID)
    return states.flatMap(([client, state]) => {
      const { user, open } = state as { user?: EditorUser; open?: string | null }
      return user === undefined ? [] : [{ client, ...user, open: open ?? null }]
    })
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
