// The writes of a shell. The files are a session, which bases each write on what the shell had
// read.
//
// A redirection is two writes: an empty one, and the content. The empty one is held back, so that
// the two become one edit and text that others type in the file stays. If no content follows, the
// empty write is done alone.

import type { Files } from '../files.js'
import { later, never } from '../globals.js'
import type { Stats } from '../types.js'
import type { Meta } from './types.js'

/** How long after a look whether a shell is quiet the next one is, in milliseconds. */
const LOOK_MS = 50

/**
 * After this many checks in a row without a call, a shell has nothing more to write after a
 * truncation. After one check alone, the whole process may have been suspended.
 */
const N_QUIET = 2

/** After how many looks the truncation is done even so. */
const MAX_LOOKS = 200

const FILE_MODE = 0o644

/** A truncation that has not happened yet. */
export interface Held {
  path: string
  /** The mode that the file gets, if it has another. */
  mode: number | undefined
  /** When the shell asked for it. */
  since: Date
  timer: ReturnType<typeof setTimeout>
}

/** The writes of one shell. */
export class Writes {
  /** Through which the files are written. */
  files: Files
  readonly #isPosix: boolean
  readonly #begin: (work: () => Promise<void>) => void
  /** Truncations that wait for what follows, by file. */
  readonly #held = new Map<string, Held>()
  /** Counts the calls of the shell, so that it shows when it is quiet. */
  #nCalls = 0

  constructor(files: Files, isPosix: boolean, begin: (work: () => Promise<void>) => void) {
    this.files = files
    this.#isPosix = isPosix
    this.#begin = begin
  }

  /** Takes note that the shell is at work. */
  noteCall(): void {
    this.#nCalls += 1
  }

  /** Returns the truncation of a file that is held back. */
  held(id: string): Held | undefined {
    return this.#held.get(id)
  }

  /** Does all truncations that are held back. */
  async flush(): Promise<void> {
    for (const [id, held] of [...this.#held]) await this.#truncate(id, held)
  }

  /** Drops the truncation of a file that was removed, or is written otherwise. */
  drop(id: string): void {
    never(this.#held.get(id)?.timer)
    this.#held.delete(id)
  }

  /** Makes bytes the content of a file, or holds that back if they are none. */
  async write(at: string, bytes: Uint8Array, found: Stats | undefined): Promise<void> {
    const file = found?.kind === 'file' ? found : undefined
    if (file && file.size > 0 && bytes.length === 0 && !this.#held.has(file.id))
      return this.#hold(at, file)
    if (found) this.drop(found.id)
    await this.files.writeFile(at, bytes, { mode: this.#newMode(file), follow: false })
    // Writing the same content is no edit. Scripts expect a new time even so, such as build stamps.
    if (file && this.files.findSync(at, false)?.mtimeMs === file.mtimeMs)
      await this.files.utimes(at, Date.now())
  }

  /**
   * Creates a file with this content and metadata; what the shell has read of it does not matter.
   */
  async writeWith(at: string, bytes: Uint8Array, meta: Meta): Promise<void> {
    const found = this.files.findSync(at, false)
    if (found) this.drop(found.id)
    if (found?.kind === 'file') this.files.forget(at)
    const mode = this.#isPosix ? meta.mode : undefined
    await this.files.writeFile(at, bytes, {
      mode,
      mtimeMs: meta.mtime && Number(meta.mtime),
      follow: false,
    })
  }

  async #hold(at: string, found: Stats): Promise<void> {
    const held = { path: at, mode: this.#newMode(found), since: new Date() }
    this.#held.set(found.id, { ...held, timer: this.#lookLater(found.id, 0, 0) })
    try {
      await this.files.truncate(at)
    } catch (error) {
      this.drop(found.id)
      throw error
    }
  }

  #lookLater(id: string, nLooks: number, nQuiet: number): ReturnType<typeof setTimeout> {
    const nCalls = this.#nCalls
    return later(() => {
      // A call that waits for its answer is work, however long it takes on a busy machine.
      const isQuiet = this.#nCalls === nCalls && !this.files.isBusy
      this.#look(id, nLooks + 1, isQuiet ? nQuiet + 1 : 0)
    }, LOOK_MS)
  }

  /** Does a truncation if the shell is quiet, or looks again. */
  #look(id: string, nLooks: number, nQuiet: number): void {
    const held = this.#held.get(id)
    if (!held) return
    if (nQuiet < N_QUIET && nLooks < MAX_LOOKS) held.timer = this.#lookLater(id, nLooks, nQuiet)
    // Nothing waits for it: the next call rejects if it cannot be done.
    else this.#begin(() => this.#truncateQuietly(id, held, nLooks))
  }

  /**
   * Does a truncation, unless others have changed the file. What follows may be what the shell had
   * read before that, and would stand beside their changes; so the truncation waits for it longer.
   */
  async #truncateQuietly(id: string, held: Held, nLooks: number): Promise<void> {
    if (this.#held.get(id) !== held) return
    const isSame = this.files.findSync(held.path, false)?.id === id
    let isDue = nLooks >= MAX_LOOKS || !isSame
    try {
      isDue ||= await this.files.settleIfUnchanged(held.path)
    } catch (error) {
      this.drop(id)
      throw error
    }
    if (isDue) await this.#truncate(id, held)
    else held.timer = this.#lookLater(id, nLooks, 0)
  }

  async #truncate(id: string, held: Held): Promise<void> {
    if (this.#held.get(id) !== held) return
    this.drop(id)
    // Gone meanwhile, or another file has its place: then there is nothing to empty, which the
    // session finds out.
    if (this.files.findSync(held.path, false)?.id !== id) return this.files.settle()
    await this.files.settle(held.path)
    if (held.mode !== undefined) await this.files.chmod(held.path, held.mode)
  }

  /** Returns the mode that a file gets when it is written, if it has another. */
  #newMode(file: Stats | undefined): number | undefined {
    return this.#isPosix && file && file.mode !== FILE_MODE ? FILE_MODE : undefined
  }
}
