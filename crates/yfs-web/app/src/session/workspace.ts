// The session: the main document, the listing of the server, and who else is here.

import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import type { EditorUser, EditorWorkspace, FileRow, SchemaProfile } from '../documents'
import { loadPerson, renamePerson } from './person'
import { rowsOf } from './rows'
import { claimsOf, takeToken } from './token'

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

/** How long changes of the main document are collected before the listing is read again. */
const REFRESH_MS = 150

export class Session implements EditorWorkspace {
  readonly rows: Signal<Map<string, FileRow>> = signal(new Map())
  readonly entries: Signal<TreeEntry[]> = signal([])
  readonly peers: Signal<Peer[]> = signal([])
  readonly isOnline = signal(false)
  readonly person: Signal<EditorUser>
  /** The ids of files, by their paths. */
  readonly idsByPath: ReadonlySignal<Map<string, string>> = computed(
    () => new Map(this.entries.value.map((entry) => [entry.path, entry.guid])),
  )
  readonly pathsById: ReadonlySignal<Map<string, string>> = computed(
    () => new Map(this.entries.value.map((entry) => [entry.guid, entry.path])),
  )
  private readonly main: Y.Doc
  private readonly provider: WebsocketProvider
  private timer: ReturnType<typeof setTimeout> | undefined

  private constructor(
    readonly id: string,
    readonly profile: SchemaProfile,
    readonly token: string,
    readonly readOnly: boolean,
    person: EditorUser,
  ) {
    this.person = signal(person)
    const main = new Y.Doc({ guid: id })
    this.main = main
    this.provider = new WebsocketProvider(socketOf('/sync'), id, main, {
      params: token === '' ? {} : { token },
      disableBc: true,
    })
    main.on('update', () => {
      this.rows.value = rowsOf(main)
      this.schedule()
    })
    this.provider.on('status', ({ status }) => {
      this.isOnline.value = status === 'connected'
      if (status === 'connected') this.schedule()
    })
    this.provider.awareness.on('change', () => {
      this.peers.value = this.listPeers()
    })
    this.announce(null)
  }

  /** Opens the workspace of this server. */
  static async open(): Promise<Session> {
    const token = takeToken()
    const claims = claimsOf(token)
    const response = await request(token, '/api/tree')
    if (!response.ok) throw new Error(await reasonOf(response))
    const tree = (await response.json()) as TreeJson
    if (claims !== null && claims.path !== '/') {
      throw new Error(`The link opens ${claims.path} only; the editor needs the whole workspace.`)
    }
    const person = loadPerson(claims?.actor)
    const isReader = claims?.rights === 'read'
    const session = new Session(tree.workspace, tree.profile, token, isReader, person)
    session.entries.value = tree.entries
    return session
  }

  get user(): EditorUser {
    return this.person.peek()
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
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
  async call(method: string, path: string, body?: unknown): Promise<Response> {
    const init: RequestInit = { method }
    if (body !== undefined) {
      init.headers = { 'Content-Type': 'application/json' }
      init.body = JSON.stringify(body)
    }
    const response = await this.fetch(path, init)
    if (!response.ok) throw new Error(await reasonOf(response))
    return response
  }

  async createFile(path: string): Promise<void> {
    const response = await this.fetch(fileUrl(path), {
      method: 'PUT',
      headers: { 'If-None-Match': '*' },
      body: '',
    })
    if (response.status === 412) throw new Error(`${path} exists already`)
    if (!response.ok) throw new Error(await reasonOf(response))
    await this.refresh()
  }

  async createDirectory(path: string): Promise<void> {
    await this.call('POST', '/api/mkdir', { path })
    await this.refresh()
  }

  async move(from: string, to: string): Promise<void> {
    await this.call('POST', '/api/move', { from, to })
    await this.refresh()
  }

  async trash(path: string): Promise<void> {
    await this.call('DELETE', `${fileUrl(path)}?recursive=true`)
    await this.refresh()
  }

  async listTrash(): Promise<TrashEntry[]> {
    const listed = (await (await this.call('GET', '/api/trash')).json()) as {
      entries: TrashEntry[]
    }
    return listed.entries
  }

  async restore(id: string): Promise<void> {
    await this.call('POST', '/api/restore', { id })
    await this.refresh()
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      this.refresh().catch(() => {
        // The connection tells when the server is back.
      })
    }, REFRESH_MS)
  }

  async refresh(): Promise<void> {
    const response = await this.fetch('/api/tree')
    if (!response.ok) return
    const tree = (await response.json()) as TreeJson
    this.entries.value = tree.entries
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

interface TreeJson {
  workspace: string
  profile: SchemaProfile
  entries: TreeEntry[]
}

export function fileUrl(path: string): string {
  return `/api/files${path.split('/').map(encodeURIComponent).join('/')}`
}

function socketOf(path: string): string {
  return `${location.origin.replace(/^http/, 'ws')}${path}`
}

function request(token: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== '') headers.set('Authorization', `Bearer ${token}`)
  return fetch(path, { ...init, headers })
}

async function reasonOf(response: Response): Promise<string> {
  try {
    const problem = (await response.json()) as { detail?: string; title?: string }
    return problem.detail ?? problem.title ?? `status ${response.status}`
  } catch {
    return `status ${response.status}`
  }
}
