// A content document that is open: its Yjs document, its connection and its copy in this browser.

import { batch, computed, effect, signal, type ReadonlySignal } from '@preact/signals'
import * as decoding from 'lib0/decoding'
import type { Awareness } from 'y-protocols/awareness'
import { IndexeddbPersistence } from 'y-indexeddb'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { openBrowserCopy } from './browser_copy'
import { checkedUser, checkPresence } from './presence'
import { readSelection } from './read_selection'
import type { SavedState } from './saved_state'
import type { EditorWorkspace } from './types'
import { UnsavedChanges } from './unsaved_changes'

/** The close code for a document that the server does not have (yet). */
const NO_SUCH_DOCUMENT = 4404
const RETRY_MS = 1000
/** The close code for a token that is not valid, as at another server on the same address. */
const NOT_AUTHENTICATED = 4401
const RETRY_TOKEN_MS = 5000
/** The mark of a copy that contains what the server had: the copy of an empty file, for example. */
const COMPLETE = 'complete'

export interface RefusedConnection {
  code: number
  reason: string
}

const databaseName = (workspace: EditorWorkspace, id: string) => `yfs:${workspace.id}:${id}`

export class OpenDocument {
  /** Peers keep deleted items: versions and authors are read from them. */
  readonly doc: Y.Doc
  readonly awareness: Awareness
  readonly savedState: ReadonlySignal<SavedState>
  /** Whether content has arrived, from the server or from this browser. */
  readonly isLoaded: ReadonlySignal<boolean>
  readonly refused: ReadonlySignal<RefusedConnection | null>

  private readonly provider: WebsocketProvider
  private persistence: IndexeddbPersistence | null = null
  private readonly unsaved = new UnsavedChanges()
  private readonly hasUnsaved = signal(false)
  /** The numbers of local changes: made, and stored by this browser. */
  private readonly nMade = signal(0)
  private readonly nStored = signal(0)
  private readonly isPersistent = signal(true)
  private readonly isConnected = signal(false)
  /** Whether the last attempt to connect failed. */
  private readonly isAway = signal(false)
  private readonly loaded = signal(false)
  private readonly closed = signal<RefusedConnection | null>(null)
  private retry: ReturnType<typeof setTimeout> | undefined
  private destroyed = false
  private readonly stopNaming: () => void

  constructor(
    workspace: EditorWorkspace,
    readonly id: string,
  ) {
    this.doc = new Y.Doc({ guid: id, gc: false })
    const url = workspace.documentUrl(id)
    const slash = url.lastIndexOf('/')
    this.provider = new WebsocketProvider(url.slice(0, slash), url.slice(slash + 1), this.doc, {
      connect: false,
      disableBc: true,
      params: workspace.token === '' ? {} : { token: workspace.token },
    })
    this.awareness = this.provider.awareness
    checkPresence(this.provider)
    // A person takes another color when one with the same comes.
    this.stopNaming = effect(() => {
      const { name, color } = checkedUser(workspace.user)!
      this.awareness.setLocalStateField('user', { name, color, colorLight: `${color}33` })
    })
    this.isLoaded = this.loaded
    this.refused = this.closed
    this.savedState = computed(() => this.computeState())
    this.observe()
    void this.load(databaseName(workspace, id))
  }

  /** Whether the server has not stored all changes, also if it refuses them now. */
  get isUnsaved(): boolean {
    return this.hasUnsaved.value
  }

  /** Destroys the document; changes that wait stay in this browser. */
  destroy(): void {
    this.destroyed = true
    this.stopNaming()
    clearTimeout(this.retry)
    this.provider.destroy()
    void this.persistence?.destroy()
    this.doc.destroy()
  }

  private computeState(): SavedState {
    if (this.closed.value !== null) return 'refused'
    if (!this.loaded.value) return this.isAway.value ? 'absent' : 'loading'
    if (this.isConnected.value) return this.hasUnsaved.value ? 'saving' : 'saved'
    if (!this.hasUnsaved.value) return 'offline'
    if (!this.isPersistent.value) return 'volatile'
    return this.nStored.value < this.nMade.value ? 'saving' : 'waiting'
  }

  private observe(): void {
    this.doc.on('update', (update: Uint8Array, origin: unknown) => {
      if (origin === this.provider || origin instanceof IndexeddbPersistence) return
      this.unsaved.addUpdate(update)
      batch(() => {
        this.hasUnsaved.value = true
        this.nMade.value += 1
      })
      // The persistence has its own handler of this event: it has run when the task is over.
      queueMicrotask(() => void this.awaitStored())
    })
    this.provider.on('sync', (synced: boolean) => {
      if (synced) {
        this.loaded.value = true
        this.closed.value = null
        this.persistence?.set(COMPLETE, 1).catch(() => {})
      }
      this.isConnected.value = synced
    })
    this.provider.on('status', ({ status }) => {
      if (status === 'connected') this.isAway.value = false
      else this.isConnected.value = false
    })
    this.provider.on('connection-close', (event) => {
      this.isAway.value = event?.code !== NO_SUCH_DOCUMENT
    })
    this.provider.on('closed', ({ code, reason }) => {
      // The row of a new file may arrive at the server later than this connection.
      const isEarly = code === NO_SUCH_DOCUMENT
      if (!isEarly) this.closed.value = { code, reason }
      if (!isEarly && code !== NOT_AUTHENTICATED) return
      const wait = isEarly ? RETRY_MS : RETRY_TOKEN_MS
      this.retry = setTimeout(() => this.provider.connect(), wait)
    })
    this.observeServer()
  }

  /** Reads what the server's messages say about its state, before the provider handles them. */
  private observeServer(): void {
    const handle = this.provider.messageHandlers[0]
    if (handle === undefined) throw new Error('y-websocket has no handler of sync messages')
    this.provider.messageHandlers[0] = (encoder, decoder, provider, emitSynced, type) => {
      const peek = decoding.clone(decoder)
      const kind = decoding.readVarUint(peek)
      const payload = decoding.readVarUint8Array(peek)
      readSelection()
      handle(encoder, decoder, provider, emitSynced, type)
      if (kind === 0) this.unsaved.removeClocks(Y.decodeStateVector(payload))
      else this.unsaved.removeUpdate(payload)
      this.hasUnsaved.value = !this.unsaved.isEmpty
    }
    // The cursors of others are drawn in a later task, which this one precedes.
    this.awareness.on('change', () => setTimeout(readSelection))
  }

  /** Waits until this browser has stored the changes up to now. */
  private async awaitStored(): Promise<void> {
    const n = this.nMade.peek()
    const db = this.persistence?.db
    if (!db) return
    // It begins when all writes that were queued before have been committed.
    const reading = db.transaction(['updates'], 'readonly').objectStore('updates').count()
    await new Promise((resolve) => {
      reading.onsuccess = resolve
      reading.onerror = resolve
    })
    this.nStored.value = Math.max(this.nStored.peek(), n)
  }

  private async load(name: string): Promise<void> {
    this.persistence = await openBrowserCopy(name, this.doc)
    // A private window may have no storage: the document then works while connected.
    this.isPersistent.value = this.persistence !== null
    if (this.destroyed) {
      void this.persistence?.destroy()
      return
    }
    const isComplete = await this.persistence?.get(COMPLETE).catch(() => undefined)
    if (this.destroyed) return
    if (this.doc.store.clients.size > 0) {
      this.unsaved.addDocument(this.doc)
      this.hasUnsaved.value = true
      this.loaded.value = true
    }
    if (isComplete !== undefined) this.loaded.value = true
    this.provider.connect()
  }
}
