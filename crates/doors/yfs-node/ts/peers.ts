// Peers: other stores of the workspace, to which it is connected without a server.

import { asking, calling } from './errors.js'
import { type Members, optionsOf, textOf } from './given.js'
import type { NativePeerEvents, NativePeers } from './native.js'

/** How the workspace is connected with its peers. */
export interface PeersOptions {
  /**
   * The address to listen on, such as `127.0.0.1:0`; all addresses by default, with the port of the
   * last time.
   */
  listen?: string
  /** Whether only addresses of this machine and its local network are used. */
  lanOnly?: boolean
  /** Whether peers are searched in the local network, which shows this one; true by default. */
  lan?: boolean
  /** Relays, as `host` or `host:port`. They are remembered, and named in tickets. */
  relays?: string[]
  /** Whether no relay is used, and those that were named before are forgotten. */
  noRelay?: boolean
}

/** What a ticket grants. */
export interface ShareOptions {
  /** Whether all peers refuse the changes of those that join with it. */
  readOnly?: boolean
  /** After how many milliseconds the ticket and its memberships end; never by default. */
  expiresInMs?: number
  /** Whether it admits one peer. */
  once?: boolean
  /** For whom it is, as `list` shows it: at most 64 bytes. */
  for?: string
  /**
   * The directory that is shared; the whole workspace by default. The peer gets nothing else. It is
   * a workspace of its own, and kept equal by a process that connects: this one, from now on and
   * after each `start`.
   */
  path?: string
  /**
   * Whether a join code of words is offered instead of the ticket, for one peer, until it was used,
   * wrong words were tried, or the workspace is closed.
   */
  code?: boolean
  /** After how many milliseconds a code ends: 10 minutes by default, an hour at most. */
  codeForMs?: number
}

/** A text that lets its holder join. It is worth a password. */
export interface Ticket {
  ticket: string
  /** The id, by which `block` withdraws it. */
  id: string
}

/** A code that gives its ticket once. */
export interface SharedCode {
  /** A number and two words, such as `7-amber-falcon`. */
  code: string
  /** The id of its ticket, by which `block` withdraws it. */
  id: string
  /** The addresses at which it is offered, for the option `at` of `Workspace.join`. */
  addresses: string[]
  /** The relays at which it is offered, for the option `relay`. */
  relays: string[]
  expiresMs: number
  /** Why it is not announced in the local network, if it should be. */
  lanFailure: string | null
  /** The relays that do not offer it yet. */
  relayFailures: { relay: string; reason: string }[]
}

/** A peer of the workspace. */
export interface Peer {
  /** Its public key: 64 hexadecimal digits. */
  id: string
  name: string | null
  rights: 'read' | 'write' | null
  /** The time when its membership ends. */
  expiresMs: number | null
  connected: boolean
  via: 'direct' | 'relayed'
  /** The address at the other end of the last connection: of the peer, or of the relay. */
  address: string | null
  /** Whether this side made the connection. */
  dialed: boolean
  /** Whether both sides have everything, as far as this side knows. */
  inStep: boolean
  /** The number of documents that changed here since it had everything. */
  behind: number | null
  /** Whether only the last 10,000 updates were counted. */
  behindAtLeast: boolean
  lastSeenMs: number | null
  bytesSent: number
  bytesReceived: number
  /** The number of its updates that were refused. */
  refused: number
  /** The number of files that it sent with other content under the same ids. */
  forked: number
  /** How often it violated the protocol or its rights. */
  faults: number
  /** Why the last connection failed or ended. */
  error: string | null
  blocked: boolean
  /** The path of the directory that is shared with it; null if that is the whole workspace. */
  path: string | null
}

/** A shared directory. */
export interface DirectoryShare {
  /** The id of the directory; null if its share cannot be opened. */
  id: string | null
  /** Its path; null if it is in the trash or gone. */
  path: string | null
  /** Whether a process connects its peers. */
  isRunning: boolean
  /** What this process last reported of it, such as a failure. */
  notice: string | null
}

/** An event of a connection. */
export type PeerEvent =
  | { kind: 'connected'; peer: string }
  /** Both sides have everything; the numbers of updates of the connection so far. */
  | { kind: 'inStep'; peer: string; sent: number; received: number; new: number }
  /** It sent other content of a document, a file or the workspace, under the same ids. */
  | { kind: 'forked'; peer: string; document: string }
  /** A connection failed or ended. */
  | { kind: 'ended'; peer: string; reason: string; mayPassLater: boolean }
  | { kind: 'relayRegistered'; relay: string; address: string }
  | { kind: 'relayLost'; relay: string; reason: string }

const START: Members<PeersOptions> = {
  listen: 'string',
  lanOnly: 'boolean',
  lan: 'boolean',
  relays: 'string[]',
  noRelay: 'boolean',
}

const SHARE: Members<ShareOptions> = {
  readOnly: 'boolean',
  expiresInMs: 'count',
  once: 'boolean',
  for: 'string',
  path: 'string',
  code: 'boolean',
  codeForMs: 'count',
}

/** The peers of a workspace. Of all processes that use the workspace, one connects it. */
export class Peers {
  readonly #native: NativePeers

  constructor(peers: NativePeers) {
    this.#native = peers
  }

  /** Whether this process connects the workspace with its peers. */
  get isRunning(): boolean {
    return this.#native.isRunning
  }

  /**
   * Connects the workspace with its peers, until `stop` or until it is closed. A workspace that was
   * neither shared nor joined before becomes the owner of a new group. Returns the addresses at
   * which this process can be reached, and why the local network is not searched, if it should be.
   */
  async start(
    options: PeersOptions = {},
  ): Promise<{ addresses: string[]; lanFailure: string | null }> {
    const given = JSON.stringify(optionsOf(options, START))
    return JSON.parse(await asking(() => this.#native.start(given)))
  }

  /** Ends the connections. */
  async stop(): Promise<void> {
    await asking(() => this.#native.stop())
  }

  /** Returns the id of this store, which is its public key. */
  async id(): Promise<string> {
    return asking(() => this.#native.id())
  }

  /**
   * Makes a ticket with the addresses of the process that connects, or a code that gives one. For
   * the owner's store only.
   */
  async share(options: ShareOptions & { code: true }): Promise<SharedCode>
  async share(options?: ShareOptions & { code?: false }): Promise<Ticket>
  async share(options: ShareOptions = {}): Promise<Ticket | SharedCode> {
    const given = JSON.stringify(optionsOf(options, SHARE))
    return JSON.parse(await asking(() => this.#native.share(given)))
  }

  /** Lists the shared directories. */
  async shares(): Promise<DirectoryShare[]> {
    return JSON.parse(await asking(() => this.#native.shares()))
  }

  /** Lists the peers, without those that were forgotten; those of shared directories are last. */
  async list(): Promise<Peer[]> {
    const peers = JSON.parse(await asking(() => this.#native.list())) as WirePeer[]
    return peers.map(({ expires, lastSeen, relayed, reached: _, ...peer }) => ({
      ...peer,
      expiresMs: expires,
      lastSeenMs: lastSeen,
      via: relayed ? 'relayed' : 'direct',
    }))
  }

  /** Gives a peer a name. A peer is named by its name, or the first 4 digits or more of its id. */
  async rename(peer: string, name: string): Promise<void> {
    await asking(() => this.#native.rename(textOf(peer, 'peer'), textOf(name, 'name')))
  }

  /**
   * Blocks a peer for good, or a ticket by its id and all that joined with it. Returns whether all
   * peers will follow: only blocks of the owner's store spread.
   */
  async block(target: string): Promise<boolean> {
    return asking(() => this.#native.block(textOf(target, 'target')))
  }

  /** Allows connections with a peer that only this store blocked. */
  async unblock(peer: string): Promise<void> {
    await asking(() => this.#native.unblock(textOf(peer, 'peer')))
  }

  /** Does not list a peer, nor connect with it, until it connects itself. */
  async forget(peer: string): Promise<void> {
    await asking(() => this.#native.forget(textOf(peer, 'peer')))
  }

  /**
   * Yields the events of the connections until they end: those since `start` for the first call,
   * later ones for others. A caller that is more than 256 events behind misses some.
   */
  events(options: { signal?: AbortSignal } = {}): AsyncGenerator<PeerEvent, void, void> {
    const { signal } = optionsOf(options, { signal: 'AbortSignal' })
    return eventsOf(
      calling(() => this.#native.events()),
      signal,
    )
  }
}

/** A peer, as the native half describes it. */
interface WirePeer extends Omit<Peer, 'expiresMs' | 'lastSeenMs' | 'via'> {
  expires: number | null
  lastSeen: number | null
  relayed: boolean
  reached?: number
}

async function* eventsOf(
  events: NativePeerEvents,
  signal: AbortSignal | undefined,
): AsyncGenerator<PeerEvent, void, void> {
  const close = (): void => events.close()
  signal?.addEventListener('abort', close)
  try {
    while (!signal?.aborted) {
      const event = await asking(() => events.next())
      if (event === null) return
      yield JSON.parse(event) as PeerEvent
    }
  } finally {
    signal?.removeEventListener('abort', close)
    events.close()
  }
}
