// A document of a workspace, for programs that carry Yjs updates.

import { asking } from './errors.js'
import { bytesOf, wordOf } from './given.js'
import type { NativePort } from './native.js'

/** Receives an update; undefined if some were lost, and the caller must request the difference. */
export type UpdateListener = (update: Uint8Array | null) => void

/** A document: the main one, or that of a file. Close it after use, or close the workspace. */
export class Port {
  readonly #listeners = new Set<UpdateListener>()
  readonly #native: NativePort
  readonly #closed: (port: Port) => void
  #isFollowing = false

  /** @internal */
  constructor(native: NativePort, closed: (port: Port) => void) {
    this.#native = native
    this.#closed = closed
  }

  /** The guid of the document. */
  get guid(): string {
    return this.#native.guid
  }

  /** Returns the state vector. */
  async stateVector(): Promise<Uint8Array> {
    return asking(() => this.#native.stateVector())
  }

  /**
   * Returns the update that a peer with this state vector lacks; without a vector, the whole state.
   */
  async diff(stateVector: Uint8Array = new Uint8Array([0])): Promise<Uint8Array> {
    const bytes = bytesOf(stateVector, 'stateVector')
    return asking(() => this.#native.diff(bytes))
  }

  /** Applies an update through the gate. When this resolves, the update is logged and published. */
  async applyUpdate(update: Uint8Array): Promise<void> {
    const bytes = bytesOf(update, 'update')
    await asking(() => this.#native.receive(bytes))
  }

  /** Subscribes to the updates since the port was opened, including its own. */
  on(event: 'update', listener: UpdateListener): () => void {
    wordOf(event, ['update'], 'event')
    this.#listeners.add(listener)
    if (!this.#isFollowing) {
      this.#isFollowing = true
      void this.#follow()
    }
    return () => this.#listeners.delete(listener)
  }

  /** Releases the document. Listeners are not called any more. */
  close(): void {
    this.#listeners.clear()
    this.#native.close()
    this.#closed(this)
  }

  async #follow(): Promise<void> {
    for (;;) {
      // A failure means that the workspace is closed: nothing will come any more.
      const next = await this.#native.next().catch(() => null)
      if (next === null) return
      for (const listener of [...this.#listeners]) listener(next.update ?? null)
    }
  }
}
