// What files said when they were read: of a file that has not changed since, only its state crosses from the native half.

import { encode } from '../encoding.js'
import type { Files } from '../files.js'

/** What a file says, in the forms that were asked for. */
export interface Text {
  /** The id of the file. */
  id: string
  /** What it has for what it says now only. */
  state: number
  /** The version that it is. */
  version: string
  /** As text, a byte order mark included. */
  text: string
  /** As bytes; made when they are first asked for. */
  bytes?: Uint8Array
}

/** How many characters are kept at most. */
const MAX_KEPT = 1 << 24

/** Texts that were read, the oldest of which go when they are too many. */
export class Contents {
  readonly #texts = new Map<string, Text>()
  #kept = 0

  /** Returns what a file says, if that is a text in memory. */
  get(files: Files, path: string): Text | undefined {
    const now = files.textStateSync(path)
    if (now === undefined) return undefined
    const known = this.#texts.get(now.id)
    if (known?.state === now.state) return known
    const read = files.textSync(path)
    const text = read && { ...read, state: Number(read.version) }
    if (text) this.#keep(text)
    return text
  }

  #keep(text: Text): void {
    this.#drop(text.id)
    this.#texts.set(text.id, text)
    this.#kept += text.text.length
    for (const id of this.#texts.keys()) {
      if (this.#kept <= MAX_KEPT) break
      this.#drop(id)
    }
  }

  #drop(id: string): void {
    this.#kept -= this.#texts.get(id)?.text.length ?? 0
    this.#texts.delete(id)
  }
}

/** Returns the bytes of a text, which are not the caller's to change. */
export function bytesOf(text: Text): Uint8Array {
  return (text.bytes ??= encode(text.text, undefined))
}
