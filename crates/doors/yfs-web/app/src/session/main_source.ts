// The main document as the source of a session.

import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import type { EditorUser } from '../documents'
import { openBrowserCopy } from '../documents/browser_copy'
import { checkPresence } from '../documents/presence'
import { t } from '../language/translate'
import { listingDatabase, type KeptWorkspace, type ListingKeeper } from './kept_workspace'
import { rowsOf } from './rows'
import type { Peer, SourceListener, WorkspaceSource } from './source'

/** How often a server that refuses is asked again: it may be another one for a while. */
const RETRY_MS = 5000
/** The close code for a document that the server does not have. */
const NO_SUCH_DOCUMENT = 4404
/** The close code for a token that does not cover it. */
const FORBIDDEN = 4403

export const otherWorkspace = () =>
  t('Another workspace is at this address now. Changes of this one wait in this browser.')

export const refused = (reason: string) =>
  t('The server refuses this page: {reason}. Changes wait in this browser.', { reason })

/** What others say of themselves; `documents/presence.ts` has checked it. */
interface PresentState {
  user?: EditorUser & { agent?: boolean }
  open?: string
  writes?: boolean
}

export class MainSource implements WorkspaceSource {
  readonly main: Y.Doc
  private readonly provider: WebsocketProvider

  constructor(
    private readonly id: string,
    token: string,
    socket: string,
    kept: KeptWorkspace | null,
    private readonly listener: SourceListener,
    private readonly listings: ListingKeeper,
  ) {
    const main = kept?.main ?? new Y.Doc({ guid: id })
    this.main = main
    this.provider = new WebsocketProvider(socket, id, main, {
      connect: false,
      params: token === '' ? {} : { token },
      disableBc: true,
    })
    checkPresence(this.provider)
    listener.onRows(rowsOf(main))
    main.on('update', () => {
      listener.onRows(rowsOf(main))
      listener.onChange()
    })
    this.observeConnection()
  }

  get client(): number {
    return this.provider.awareness.clientID
  }

  /** Loads what this browser has before it connects, so that only what is new is sent. */
  async start(kept: KeptWorkspace | null): Promise<void> {
    const name = listingDatabase(this.id, '/')
    const copy = kept?.copy ?? (await openBrowserCopy(name, this.main))
    if (copy !== null) this.listings.setCopy(copy)
    this.provider.connect()
  }

  announce(user: EditorUser, open: string | null): void {
    this.provider.awareness.setLocalState({ user, open })
  }

  private observeConnection(): void {
    const { provider, listener } = this
    provider.on('status', ({ status }) => {
      if (status !== 'connected') return
      listener.onOnline(true)
      listener.onChange()
    })
    provider.on('connection-close', () => {
      listener.onOnline(false)
      this.listings.write()
    })
    provider.on('closed', ({ code, reason }) => {
      const isOther = code === NO_SUCH_DOCUMENT
      listener.onRefusal(isOther ? otherWorkspace() : refused(reason || String(code)))
      if (code !== FORBIDDEN) setTimeout(() => provider.connect(), RETRY_MS)
    })
    provider.on('sync', (isSynced: boolean) => {
      if (isSynced) listener.onRefusal(null)
    })
    provider.awareness.on('change', () => listener.onPeers(this.listPeers()))
  }

  private listPeers(): Peer[] {
    const { awareness } = this.provider
    const states = [...awareness.getStates()].filter(([client]) => client !== awareness.clientID)
    return states.flatMap(([client, state]) => {
      const { user, open, writes } = state as PresentState
      if (user === undefined) return []
      const { name, color, agent } = user
      const does = { open: open ?? null, writes: writes === true }
      return [{ client, name, color, agent: agent === true, ...does }]
    })
  }
}
