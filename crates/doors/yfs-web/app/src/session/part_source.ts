// The source of a session whose token covers a part of the workspace. The server lists what is
// there, sends the changes below the path, and says who has a file open there.

import * as Y from 'yjs'
import type { EditorUser } from '../documents'
import { openBrowserCopy } from '../documents/browser_copy'
import { checkedUser } from '../documents/presence'
import { listingDatabase, type KeptWorkspace, type ListingKeeper } from './kept_workspace'
import { refused } from './main_source'
import { reasonOf } from './refusal_words'
import { ServerAway } from './server_away'
import type { Peer, SourceListener, WorkspaceSource } from './source'

/** How often the page says that it is there. The server forgets one after twelve seconds. */
const PULSE_MS = 5000
const RETRY_MS = 2000

interface PresentPerson {
  client: number
  name: string
  color?: string
  agent: boolean
  writes: boolean
  open: string
}

interface PresentPeople {
  client: number
  people: PresentPerson[]
}

type Request = (path: string, init?: RequestInit) => Promise<Response>

export class PartSource implements WorkspaceSource {
  client: number | null = null
  private readonly page = crypto.randomUUID?.() ?? String(Math.random()).slice(2)
  private said: { color: string; open: string | null } | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private isRefused = false
  private wasAway = true

  constructor(
    private readonly id: string,
    private readonly path: string,
    private readonly request: Request,
    private readonly listener: SourceListener,
    private readonly listings: ListingKeeper,
  ) {}

  async start(kept: KeptWorkspace | null): Promise<void> {
    const database = listingDatabase(this.id, this.path)
    const copy = kept?.copy ?? (await openBrowserCopy(database, new Y.Doc({ guid: this.id })))
    if (copy !== null) this.listings.setCopy(copy)
    void this.pulse()
    void this.follow()
  }

  announce(user: EditorUser, open: string | null): void {
    this.said = { color: user.color, open }
    if (this.timer !== undefined) void this.pulse()
  }

  /** Says what is open, and reads who is there. */
  private async pulse(): Promise<void> {
    clearTimeout(this.timer)
    try {
      const body = JSON.stringify({ page: this.page, ...this.said })
      const headers = { 'Content-Type': 'application/json' }
      const response = await this.request('/api/people', { method: 'POST', headers, body })
      await this.receive(response)
    } catch (failure) {
      this.wasAway ||= failure instanceof ServerAway
      this.listener.onOnline(false)
      this.listings.write()
    }
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.pulse(), PULSE_MS)
  }

  private async receive(response: Response): Promise<void> {
    this.listener.onOnline(true)
    if (!response.ok) {
      this.isRefused = response.status === 401 || response.status === 403
      if (this.isRefused) this.listener.onRefusal(refused(await reasonOf(response)))
      this.listener.onPeers([])
      return
    }
    const { client, people } = (await response.json()) as PresentPeople
    this.client = client
    this.isRefused = false
    this.listener.onRefusal(null)
    this.showPeople(people)
    if (this.wasAway) this.listener.onChange()
    this.wasAway = false
  }

  private showPeople(people: PresentPerson[]): void {
    const others = people.filter(({ client }) => client !== this.client)
    this.listener.onPeers(others.map(toPeer))
  }

  /** Reads the events of the server for as long as the page is open. */
  private async follow(): Promise<never> {
    for (;;) {
      try {
        const response = this.isRefused ? null : await this.request('/events?people=true')
        if (response?.ok && response.body !== null) await this.readEvents(response.body)
      } catch {
        // The server is away, or it was stopped.
      }
      // It ends with the server, and with the token.
      if (!this.isRefused) void this.pulse()
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      if (!this.isRefused) this.listener.onChange()
    }
  }

  private async readEvents(body: ReadableStream<Uint8Array>): Promise<void> {
    const [reader, decoder] = [body.getReader(), new TextDecoder()]
    for (let text = ''; ;) {
      const { done, value } = await reader.read()
      if (done) return
      const events = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = events.pop()!
      for (const event of events) this.receiveEvent(event.split('\n'))
    }
  }

  /** Comments keep the connection open, and events have data. */
  private receiveEvent(lines: string[]): void {
    const data = lines.find((line) => line.startsWith('data:'))?.slice(5)
    if (data === undefined) return
    if (lines.includes('event: people')) this.showPeople(JSON.parse(data) as PresentPerson[])
    else this.listener.onChange()
  }
}

function toPeer({ client, name, color, agent, writes, open }: PresentPerson): Peer {
  const checked = checkedUser({ name, color })!
  return { client, ...checked, agent, writes, open }
}
