// Texts of files that were read: for a file that has not changed since then, the native half sends
// only its state.

import { encode } from '../encoding.js'
import type { Files } from '../files.js'

/** What a file says, in the forms that were asked for. */
export interface Text {
  /** The id of the file. */
  id: string
  /** The version that it is. */
  version: string
  /** As text, a byte order mark included. */
  text: string
  /** As bytes; made when they are first asked for. */
  bytes?: Uint8Array
}

/** How many characters are kept at most. */
const MAX_KEPT = 1 << 24

/** A cache of texts that were read; it evicts the oldest ones. */
export class Contents {
  /** By the numbers that their states have. */
  readonly #texts = new Map<number, Text>()
  readonly #states = new Map<string, number>()
  #kept = 0

  /** Returns what a file says, if that is a text in memory. */
  get(files: Files, path: string): Text | undefined {
    const state = files.textStateSync(path)
    if (state === undefined) return undefined
    const known = this.#texts.get(state)
    if (known) return known
    const text = files.textSync(path)
    if (text) this.#keep(text)
    return text
  }

  #keep(text: Text): void {
    const state = Number.parseInt(text.version, 10)
    this.#drop(this.#states.get(text.id))
    this.#states.set(text.id, state)
    this.#texts.set(state, text)
    this.#kept += text.text.length
    for (const oldest of this.#texts.keys()) {
      if (this.#kept <= MAX_KEPT) break
      this.#drop(oldest)
    }
  }

  #drop(state: number | undefined): void {
    const text = state === undefined ? undefined : this.#texts.get(state)
    if (!text) return
    this.#texts.delete(state!)
    this.#states.delete(text.id)
    this.#kept -= text.text.length
  }
}

/** Returns the bytes of a text, which are not the caller's to change. */
export function bytesOf(text: Text): Uint8Array {
  return (text.bytes ??= encode(text.text, undefined))
}
