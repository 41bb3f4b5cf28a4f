// The tree as a kernel sees it: the places that paths resolve to, their entries, and the changes
// that the native half supports.

import { calling, asking } from '../errors.js'
import { requestOf } from '../given.js'
import type { NativeFs, NativeWrite } from '../native.js'
import { join, parentOf } from '../paths.js'
import type { Kind, Written } from '../types.js'
import { codeOf, failure, asSystemError } from './failures.js'
import type { Facts } from './stats.js'
import { ask, type Steps } from './steps.js'

const KINDS: Record<string, Kind> = { f: 'file', d: 'directory', l: 'symlink' }

/** What a path needs before it can be looked up by its text alone. */
const UNRESOLVED = /\/(\.{0,2})(\/|$)/

/** What a call is about, for its errors: the system call, and the paths as they were given. */
export type About = [syscall: string, path?: string, dest?: string]

/** Where a path leads to. */
export interface Place {
  /** The path without `.`, `..` or a slash at its end. */
  at: string
  about: About
  /** Whether it ended as only the path of a directory may. */
  isDirectory: boolean
  /** What it ended with, if that was `.` or `..`. */
  dots: string
}

/** The content of a file, and its version. */
export interface Snapshot {
  data: Uint8Array
  version: string
}

/** The tree of a workspace, on behalf of an actor. */
export class Tree {
  readonly #native: NativeFs
  /** Where relative paths count from. */
  readonly cwd: string
  readonly #fields = new Float64Array(5)

  constructor(native: NativeFs, cwd: string) {
    this.#native = native
    this.cwd = cwd
  }

  /** Finds the place of a path. Links before `..` are followed, as a kernel does. */
  locate(path: string, ...about: About): Place {
    if (path === '') throw failure('ENOENT', ...about)
    const absolute = path.startsWith('/') ? path : join(this.cwd, path)
    if (!UNRESOLVED.test(absolute)) return { at: absolute, about, isDirectory: false, dots: '' }
    let at = '/'
    let dots = ''
    for (const name of absolute.split('/')) {
      if (name !== '') dots = name === '.' || name === '..' ? name : ''
      if (name === '..') at = parentOf(this.#directory(at, about))
      else if (name !== '' && name !== '.') at = join(at, name)
    }
    return { at, about, isDirectory: at === '/' || absolute.endsWith('/') || dots !== '', dots }
  }

  /** As `locate`; and where the path must be a directory's, what is there must be one. */
  find(path: string, ...about: About): Place {
    const place = this.locate(path, ...about)
    if (!place.isDirectory || this.look(place, false) === undefined) return place
    return { ...place, at: this.#directory(place.at, about) }
  }

  /** Describes what is at a place; nothing if nothing is. */
  look(place: Place, follow: boolean): Facts | undefined {
    try {
      return this.facts(place.at, follow)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw asSystemError(error, ...place.about)
    }
  }

  /** As `look`, and it must be there. */
  must(place: Place, follow: boolean): Facts {
    const found = this.look(place, follow)
    if (found === undefined) throw failure('ENOENT', ...place.about)
    return found
  }

  /** Says why what the last name of a path lies in is no directory, if so. */
  lacksParent(place: Place): 'ENOENT' | 'ENOTDIR' | undefined {
    const found = this.look(
      { ...place, at: place.dots === '' ? parentOf(place.at) : place.at },
      true,
    )
    if (found === undefined) return 'ENOENT'
    return found.kind === 'directory' ? undefined : 'ENOTDIR'
  }

  /** Describes what is at a path. */
  facts(at: string, follow: boolean): Facts {
    const fields = this.#fields
    const id = calling(() => this.#native.stat(at, follow, fields))
    const kind = KINDS[String.fromCharCode(fields[0]!)]!
    return {
      id,
      kind,
      size: fields[1]!,
      mode: fields[3]!,
      mtimeMs: fields[2]!,
      birthtimeMs: fields[4]!,
      nlink: 1,
    }
  }

  /** Lists a directory. */
  names(at: string): { name: string; kind: Kind }[] {
    const listing = calling(() => this.#native.readdir(at))
    if (listing === '') return []
    return listing.split('\0').map((item) => ({ name: item.slice(1), kind: KINDS[item[0]!]! }))
  }

  realpath(at: string): string {
    return calling(() => this.#native.realpath(at))
  }

  readlink(at: string): string {
    return calling(() => this.#native.readlink(at))
  }

  /** Returns where an object is now; nothing if it is in the trash. */
  pathOf(id: string): string | null {
    return calling(() => this.#native.pathOf(id))
  }

  /** Returns the version of a file. */
  version(at: string): string {
    return calling(() => this.#native.version(at))
  }

  cursor(): string {
    return calling(() => this.#native.cursorSync())
  }

  *read(at: string): Steps<Snapshot> {
    const known = calling(() => this.#native.textInMemory(at))
    if (known !== null) {
      const end = known.indexOf('\n')
      return {
        version: known.slice(known.indexOf(' ') + 1, end),
        data: Buffer.from(known.slice(end + 1)),
      }
    }
    const native = this.#native
    return yield* asked(
      () => native.readSync(at),
      () => native.read(at),
    )
  }

  /** Makes `data` the content of a file, as a change of what was read of it last. */
  *write(at: string, data: Uint8Array, options: NativeWrite): Steps<Written> {
    const given: NativeWrite = { parents: false, ...options }
    const native = this.#native
    const done = yield* asked(
      () => native.writeSync(at, data, null, given),
      () => native.write(at, data, null, given),
    )
    return JSON.parse(done)
  }

  /** Empties a file, which is held back until a write or an append follows, or `settle`. */
  *truncate(at: string): Steps<void> {
    const native = this.#native
    yield* asked(
      () => native.truncateSync(at),
      () => native.truncate(at),
    )
  }

  /** Makes the truncations that are held back: of one file, or of all. */
  *settle(at: string | null): Steps<void> {
    const native = this.#native
    yield* asked(
      () => native.settleSync(at),
      () => native.settle(at),
    )
  }

  /** Makes a truncation unless others changed the file; reports whether none is held back now. */
  *settleIfUnchanged(at: string): Steps<boolean> {
    const native = this.#native
    return yield* asked(
      () => false,
      () => native.settleIfUnchanged(at),
    )
  }

  *append(at: string, data: Uint8Array, options: NativeWrite): Steps<Written> {
    const given = { parents: false, ...options }
    const native = this.#native
    const done = yield* asked(
      () => native.appendSync(at, data, given),
      () => native.append(at, data, given),
    )
    return JSON.parse(done)
  }

  mkdir(at: string, recursive: boolean, mode: number | null): Steps<void> {
    return this.#change('mkdir', { at, recursive, mode })
  }

  remove(at: string, recursive: boolean): Steps<void> {
    return this.#change('rm', { at, recursive, force: false })
  }

  /** Copies a file, which becomes what the other is: content, mode and time. */
  copy(from: string, to: string): Steps<void> {
    return this.#change('cp', { from, to, recursive: false, replace: true })
  }

  move(from: string, to: string): Steps<void> {
    return this.#change('mv', { from, to, replace: true, parents: false })
  }

  symlink(target: string, at: string): Steps<void> {
    return this.#change('symlink', { at, target })
  }

  chmod(at: string, mode: number): Steps<void> {
    return this.#change('chmod', { at, mode })
  }

  utimes(at: string, mtime: number): Steps<void> {
    return this.#change('utimes', { at, mtime })
  }

  *#change(op: string, request: object): Steps<void> {
    const [native, given] = [this.#native, requestOf(op, request)]
    yield* asked(
      () => native.changeSync(given),
      () => native.change(given),
    )
  }

  /** Is done when all that was written survives a power cut. */
  *flush(): Steps<void> {
    const native = this.#native
    yield* asked(
      () => native.flushSync(),
      () => native.flush(),
    )
  }

  /** Returns the path without links of what must be a directory. */
  #directory(at: string, about: About): string {
    try {
      const real = this.realpath(at)
      if (this.facts(real, false).kind === 'directory') return real
    } catch (error) {
      throw asSystemError(error, ...about)
    }
    throw failure('ENOTDIR', ...about)
  }
}

/** Asks the native half, and lifts its errors. */
function asked<T>(now: () => T, later: () => Promise<T>): Steps<T> {
  return ask(
    () => calling(now),
    () => asking(later),
  )
}
