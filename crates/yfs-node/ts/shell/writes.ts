// What a shell writes, as the least edit of what it had read.
//
// A redirection is two writes: an empty one, and what follows. The empty one is held back, so that the two become one edit and
// whoever types in the file loses nothing. It is done by itself where nothing follows.

import type { Files } from '../files.js'
import { later, never } from '../globals.js'
import type { Stats, Written } from '../types.js'
import { codeOf } from './errors.js'
import type { Meta } from './types.js'

/** How long after a look whether a shell is quiet the next one is, in milliseconds. */
const LOOK_MS = 50

/** In how many looks in a row a shell that has nothing more to write after a truncation was quiet. One alone may mean that
 * the whole process had to wait. */
const N_QUIET = 2

/** After how many looks the truncation is done even so. */
const MAX_LOOKS = 100

/** Of how many files it is remembered what the shell had read. */
const MAX_READ = 256

const FILE_MODE = 0o644

/** A truncation that has not happened yet. */
export interface Held {
  path: string
  /** What the shell had read, or else what the file held then: the base of what follows. */
  version: string
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
  /** The versions that were read last, by file: the bases of what the shell writes. */
  readonly #read = new Map<string, string>()
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

  /** Remembers what the shell has read of a file. */
  remember(id: string, version: string): void {
    this.#nCalls += 1
    this.#read.delete(id)
    this.#read.set(id, version)
    if (this.#read.size > MAX_READ) this.#read.delete(this.#read.keys().next().value!)
  }

  /** Forgets what is held back of a file, and what was read of it. */
  forget(id: string): void {
    never(this.#held.get(id)?.timer)
    this.#held.delete(id)
    this.#read.delete(id)
  }

  /** Makes bytes the content of a file, or holds that back if they are none. */
  async write(at: string, bytes: Uint8Array, found: Stats | undefined): Promise<void> {
    const file = found?.kind === 'file' ? found : undefined
    if (file && file.size > 0 && bytes.length === 0 && !this.#held.has(file.id)) return this.#hold(at, file)
    const base = file && (this.#held.get(file.id)?.version ?? this.#read.get(file.id))
    if (found) this.forget(found.id)
    await this.#put(at, bytes, base, this.#newMode(file))
    // What was there already is no edit; but to scripts a file that was written is new, a stamp of a build above all.
    if (file && this.files.findSync(at, false)?.mtimeMs === file.mtimeMs) await this.files.utimes(at, Date.now())
  }

  /** Adds bytes to the end of a file. What was read of it is known with them, unless others wrote as well: then nothing is. */
  async append(at: string, bytes: Uint8Array, found: Stats | undefined): Promise<void> {
    const known = found && this.#read.get(found.id)
    const { id, version } = await this.#append(at, bytes, known)
    if (version !== undefined) this.remember(id, version)
    else this.#read.delete(id)
  }

  async #append(at: string, bytes: Uint8Array, known: string | undefined): Promise<Written> {
    try {
      return await this.files.appendFile(at, bytes, { expectedVersion: known })
    } catch (error) {
      if (known === undefined || codeOf(error) !== 'ESTALE') throw error
      return this.files.appendFile(at, bytes)
    }
  }

  /** Forgets what was read of files that hold something else now: what is at a path, and below it. */
  async replaced(at: string): Promise<void> {
    const found = this.files.findSync(at, false)
    if (found) this.forget(found.id)
    if (found?.kind !== 'directory' || this.#read.size === 0) return
    for await (const { id } of this.files.each(at)) this.#read.delete(id)
  }

  /** Makes a file as it is told. */
  async writeWith(at: string, bytes: Uint8Array, meta: Meta): Promise<void> {
    const found = this.files.findSync(at, false)
    if (found) this.forget(found.id)
    const mode = this.#isPosix ? meta.mode : undefined
    await this.files.writeFile(at, bytes, { mode, mtimeMs: meta.mtime && Number(meta.mtime), follow: false })
  }

  async #hold(at: string, found: Stats): Promise<void> {
    const version = this.#read.get(found.id) ?? (await this.#versionOf(at))
    const held = { path: at, version, mode: this.#newMode(found), since: new Date() }
    this.#held.set(found.id, { ...held, timer: this.#lookLater(found.id, 0, 0) })
  }

  #lookLater(id: string, nLooks: number, nQuiet: number): ReturnType<typeof setTimeout> {
    const nCalls = this.#nCalls
    return later(() => this.#look(id, nLooks + 1, this.#nCalls === nCalls ? nQuiet + 1 : 0), LOOK_MS)
  }

  /** Does a truncation if the shell is quiet, or looks again. */
  #look(id: string, nLooks: number, nQuiet: number): void {
    const held = this.#held.get(id)
    if (!held) return
    if (nQuiet < N_QUIET && nLooks < MAX_LOOKS) held.timer = this.#lookLater(id, nLooks, nQuiet)
    // Nobody waits for it: who asks next is told if it cannot be done.
    else this.#begin(() => this.#truncate(id, held))
  }

  async #truncate(id: string, held: Held): Promise<void> {
    if (this.#held.get(id) !== held) return
    this.forget(id)
    // Gone meanwhile, or another file has its place: then there is nothing to empty.
    if (this.files.findSync(held.path, false)?.id !== id) return
    await this.#put(held.path, new Uint8Array(), held.version, held.mode)
    // What follows is still based on what was there, so that what is typed from now on stays.
    this.remember(id, await this.#versionOf(held.path))
  }

  async #versionOf(at: string): Promise<string> {
    const state = this.files.textStateSync(at)
    return state !== undefined ? String(state) : ((await this.files.describe(at, { follow: false })).version ?? '')
  }

  /** Returns the mode that a file gets when it is written, if it has another. */
  #newMode(file: Stats | undefined): number | undefined {
    return this.#isPosix && file && file.mode !== FILE_MODE ? FILE_MODE : undefined
  }

  /** Makes bytes the content of a file, based on what had been read. */
  async #put(at: string, bytes: Uint8Array, baseVersion?: string, mode?: number): Promise<void> {
    try {
      await this.files.writeFile(at, bytes, { baseVersion, mode, follow: false })
    } catch (error) {
      if (codeOf(error) !== 'ESTALE') throw error
      // The base is gone: then what is there now is the base.
      await this.files.writeFile(at, bytes, { mode, follow: false })
    }
  }
}
