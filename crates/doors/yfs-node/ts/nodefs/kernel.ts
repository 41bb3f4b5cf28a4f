// Open files: what stands between descriptors and the tree, as in a kernel.
//
// A write through a descriptor is a least edit, in the log when the call returns. Only the
// truncation of an open with `w` is held back until the first write, the close, or a read of the
// content, so that replacing a file is one edit and concurrent typing stays. The native half is a
// session: it bases each write on the content that it last read of the file.

import { constants } from 'node:fs'
import { later } from '../globals.js'
import type { NativeWrite } from '../native.js'
import { isWithin, join, nameOf, parentOf } from '../paths.js'
import { masked } from './arguments.js'
import { failure, asSystemError } from './failures.js'
import type { Facts } from './stats.js'
import { run, type Steps, OperationQueue } from './steps.js'
import type { Place, Snapshot, Tree } from './tree.js'

const {
  O_ACCMODE,
  O_APPEND,
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOFOLLOW,
  O_RDONLY,
  O_TRUNC,
  O_WRONLY,
} = {
  O_ACCMODE: 3,
  ...constants,
}

/** The mode of a new file that is asked for most, and needs no saying. */
const FILE_MODE = 0o644

/** The least number that a descriptor has, far from those of the process. */
const FIRST_DESCRIPTOR = 1_000_000

/** How long a truncation is held back while nothing follows, in milliseconds. */
const HOLD_MS = 1_000

/** How often that time passes before the truncation is done, although others changed the file. */
const MAX_HOLDS = 10

const EMPTY = new Uint8Array()

/** A file that is open, by any number of descriptors. */
interface OpenFile {
  id: string
  n: number
  queue: OperationQueue
  /** What it held when it was read last. */
  snapshot?: Snapshot
  /** Whether a truncation of it is held back. */
  isTruncated: boolean
  /** What it holds since it is no longer in the tree. */
  detached?: { facts: Facts; data: Uint8Array }
}

/** What a number that `open` returned stands for. */
export interface Descriptor {
  fd: number
  flags: number
  position: number
  /** The path that was opened. */
  path: string
  /** What is open: a file, or the id of a directory. */
  file: OpenFile | string
}

/** The files of a tree that are open. */
export class Kernel {
  readonly tree: Tree
  readonly #files = new Map<string, OpenFile>()
  readonly #descriptors = new Map<number, Descriptor>()
  #next = FIRST_DESCRIPTOR

  constructor(tree: Tree) {
    this.tree = tree
  }

  /** Opens a file or directory. */
  *open(path: string, flags: number, mode: number): Steps<Descriptor> {
    const place = this.tree.locate(path, 'open', path)
    const found = yield* this.#opened(place, flags, mode)
    const fd = this.#next++
    const file = found.kind === 'directory' ? found.id : this.#openFile(found)
    const descriptor = { fd, flags, position: 0, path: place.at, file }
    this.#descriptors.set(fd, descriptor)
    const isTruncated =
      (flags & O_TRUNC) !== 0 && typeof file !== 'string' && this.size(file.id, found.size) > 0
    if (isTruncated) yield* this.#hold(file, place.at)
    return descriptor
  }

  /** Returns what a number stands for. */
  descriptor(fd: number, syscall: string): Descriptor {
    const found = this.#descriptors.get(fd)
    if (found === undefined) throw failure('EBADF', syscall)
    return found
  }

  /** Closes a descriptor; with the last one of a file, what was held back is done. */
  *close(fd: number): Steps<void> {
    const { file } = this.descriptor(fd, 'close')
    this.#descriptors.delete(fd)
    if (typeof file === 'string') return
    file.n -= 1
    if (file.n === 0) {
      yield* this.settle(file.id)
      // Another call may have opened it again meanwhile.
      if (file.n === 0 && this.#files.get(file.id) === file) this.#files.delete(file.id)
    }
  }

  /** Describes what is open. */
  facts(descriptor: Descriptor, syscall: string): Facts {
    const { file } = descriptor
    const id = typeof file === 'string' ? file : file.id
    if (typeof file !== 'string' && file.detached)
      return { ...file.detached.facts, size: file.detached.data.length, nlink: 0 }
    const at = this.tree.pathOf(id) ?? (typeof file === 'string' ? descriptor.path : undefined)
    if (at === undefined) throw failure('ESTALE', syscall)
    const facts = this.tree.facts(at, false)
    return { ...facts, size: this.size(id, facts.size) }
  }

  /** Notes a mode or a time of what is open and no longer in the tree. */
  note({ file }: Descriptor, facts: Partial<Facts>): void {
    if (typeof file !== 'string' && file.detached) Object.assign(file.detached.facts, facts)
  }

  /** Returns the size of a file, a truncation that is held back included. */
  size(id: string, size: number): number {
    return this.#files.get(id)?.isTruncated ? 0 : size
  }

  /** Reads from a place, or from where the descriptor is. */
  *read(descriptor: Descriptor, length: number, position: number | null): Steps<Uint8Array> {
    const file = this.#file(descriptor, 'read', (access) => access !== O_WRONLY)
    const data = yield* this.#content(file, 'read')
    const from = position ?? descriptor.position
    const found = data.subarray(Math.min(from, data.length), Math.min(from + length, data.length))
    if (position === null) descriptor.position = from + found.length
    return found
  }

  /** Writes at a place, or where the descriptor is. */
  *write(descriptor: Descriptor, data: Uint8Array, position: number | null): Steps<number> {
    const file = this.#file(descriptor, 'write', (access) => access !== O_RDONLY)
    if (data.length === 0) return 0
    yield* file.queue.run(() => this.#writeInTurn(descriptor, file, data, position))
    return data.length
  }

  /** Cuts a file, or fills it with zeros up to a length. */
  *truncate(descriptor: Descriptor, length: number): Steps<void> {
    const { file, flags } = descriptor
    if (typeof file === 'string' || (flags & O_ACCMODE) === O_RDONLY)
      throw failure('EINVAL', 'ftruncate')
    yield* file.queue.run(() => this.#truncateInTurn(file, length))
  }

  /** Returns the content of a file that was found. */
  *content(found: Facts, at: string): Steps<Uint8Array> {
    if (this.#files.get(found.id)?.isTruncated) return EMPTY
    return (yield* this.tree.read(at)).data
  }

  /** Makes bytes the content of a file, as an edit of what was read of it last. */
  *replace(
    at: string,
    data: Uint8Array,
    found: Facts | undefined,
    options: NativeWrite,
  ): Steps<void> {
    this.#begin(found?.id)
    yield* this.tree.write(at, data, options)
  }

  /** Adds bytes to the end of a file, which is made if need be. */
  *append(
    at: string,
    data: Uint8Array,
    found: Facts | undefined,
    options: NativeWrite,
  ): Steps<void> {
    this.#begin(found?.id)
    yield* this.tree.append(at, data, options)
  }

  /** Does the truncations that are held back: of one file, or of all. */
  *settle(id?: string): Steps<void> {
    for (const file of id === undefined ? [...this.#files.values()] : [this.#files.get(id)]) {
      if (file?.isTruncated) yield* file.queue.run(() => this.#settleInTurn(file))
    }
  }

  /** Keeps the content of open files that are about to leave the tree: at a path, and below it. */
  *detach(path: string): Steps<void> {
    if (this.#files.size === 0) return
    const at = join(this.tree.realpath(parentOf(path)), nameOf(path))
    for (const file of [...this.#files.values()]) {
      const found = file.detached ? null : this.tree.pathOf(file.id)
      if (found === null || !isWithin(found, at)) continue
      const data = yield* this.#content(file, 'unlink')
      file.detached = { facts: this.tree.facts(found, false), data }
      file.isTruncated = false
      this.#files.delete(file.id)
    }
  }

  /** Moves the descriptors of a file to the file that has taken over its content. */
  becomes(from: string, to: string): void {
    const file = this.#files.get(from)
    if (file === undefined || from === to) return
    this.#files.delete(from)
    const there = this.#files.get(to)
    file.id = to
    if (there === undefined) this.#files.set(to, file)
  }

  *#opened(place: Place, flags: number, mode: number): Steps<Facts> {
    const isNew = (flags & O_CREAT) !== 0
    const isExclusive = isNew && (flags & O_EXCL) !== 0
    const fail = (code: string): Error => failure(code, ...place.about)
    if (isNew && place.isDirectory)
      throw fail(
        this.tree.lacksParent(place) ?? (isExclusive && place.dots !== '' ? 'EEXIST' : 'EISDIR'),
      )
    const found = this.tree.look(place, !isExclusive && (flags & O_NOFOLLOW) === 0)
    if (found && isExclusive) throw fail('EEXIST')
    if (found === undefined) {
      if (!isNew) throw fail('ENOENT')
      return yield* this.#made(place, isExclusive, mode)
    }
    if (found.kind === 'symlink') throw fail('ELOOP')
    const isWritten = (flags & O_ACCMODE) !== O_RDONLY || (flags & O_TRUNC) !== 0 || isNew
    if (found.kind === 'directory' && isWritten) throw fail('EISDIR')
    if (found.kind === 'file' && (place.isDirectory || (flags & (O_DIRECTORY ?? 0)) !== 0))
      throw fail('ENOTDIR')
    return found
  }

  *#made(place: Place, isExclusive: boolean, mode: number): Steps<Facts> {
    try {
      yield* this.tree.write(place.at, EMPTY, {
        create: isExclusive ? 'new' : 'any',
        ...modeOption(mode),
      })
    } catch (error) {
      throw asSystemError(error, ...place.about)
    }
    return this.tree.must(place, true)
  }

  #openFile(found: Facts): OpenFile {
    const file = this.#files.get(found.id) ?? {
      id: found.id,
      n: 0,
      queue: new OperationQueue(),
      isTruncated: false,
    }
    file.n += 1
    this.#files.set(found.id, file)
    return file
  }

  *#hold(file: OpenFile, at: string): Steps<void> {
    if (file.isTruncated) return
    file.isTruncated = true
    try {
      yield* this.tree.truncate(at)
    } catch (error) {
      file.isTruncated = false
      throw error
    }
    this.#settleLater(file, 1)
  }

  /**
   * Does a truncation in a while, unless others change the file until then. What follows may be
   * what the writer had read before that, and would stand beside their changes; so the truncation
   * waits for it longer.
   */
  #settleLater(file: OpenFile, nHolds: number): void {
    const settle = async (): Promise<void> => {
      await run(file.queue.run(() => this.#settleQuietly(file, nHolds)))
      if (file.isTruncated && nHolds < MAX_HOLDS) this.#settleLater(file, nHolds + 1)
    }
    // Nothing waits for it: the next call does it, and fails if it cannot be done.
    later(() => void settle().catch(() => undefined), HOLD_MS).unref()
  }

  #file(descriptor: Descriptor, syscall: string, isFit: (access: number) => boolean): OpenFile {
    if (!isFit(descriptor.flags & O_ACCMODE)) throw failure('EBADF', syscall)
    if (typeof descriptor.file === 'string') throw failure('EISDIR', syscall)
    return descriptor.file
  }

  /** Returns the current content of an open file. */
  *#content(file: OpenFile, syscall: string): Steps<Uint8Array> {
    if (file.detached) return file.detached.data
    if (file.isTruncated) return EMPTY
    const at = this.tree.pathOf(file.id)
    if (at === null) {
      // Another writer removed it: only the content that was last read is left.
      if (file.snapshot) return file.snapshot.data
      throw failure('ESTALE', syscall)
    }
    if (file.snapshot?.version !== this.tree.version(at)) file.snapshot = yield* this.tree.read(at)
    return file.snapshot.data
  }

  *#writeInTurn(
    descriptor: Descriptor,
    file: OpenFile,
    data: Uint8Array,
    position: number | null,
  ): Steps<void> {
    const isAppending = (descriptor.flags & O_APPEND) !== 0
    const size = this.facts(descriptor, 'write').size
    const from = isAppending ? size : (position ?? descriptor.position)
    if (position === null) descriptor.position = from + data.length
    if (from === size && !file.isTruncated && !file.detached) {
      yield* this.tree.append(this.#placeOf(file), data, { create: 'never' })
      return
    }
    const before = yield* this.#content(file, 'write')
    const after = new Uint8Array(Math.max(before.length, from + data.length))
    after.set(before)
    after.set(data, from)
    yield* this.#replaceIn(file, after)
  }

  *#truncateInTurn(file: OpenFile, length: number): Steps<void> {
    const before = yield* this.#content(file, 'ftruncate')
    if (before.length === length && !file.isTruncated) return
    const after = new Uint8Array(length)
    after.set(before.subarray(0, length))
    yield* this.#replaceIn(file, after)
  }

  *#settleInTurn(file: OpenFile): Steps<void> {
    // The call that had the turn before may have written instead.
    if (!file.isTruncated) return
    file.isTruncated = false
    yield* this.tree.settle(this.tree.pathOf(file.id))
  }

  *#settleQuietly(file: OpenFile, nHolds: number): Steps<void> {
    const at = file.isTruncated ? this.tree.pathOf(file.id) : null
    const isDue = nHolds >= MAX_HOLDS || at === null || (yield* this.tree.settleIfUnchanged(at))
    if (isDue) yield* this.#settleInTurn(file)
  }

  *#replaceIn(file: OpenFile, data: Uint8Array): Steps<void> {
    if (file.detached) {
      file.detached.data = data
      return
    }
    const at = this.#placeOf(file)
    file.isTruncated = false
    const written = yield* this.tree.write(at, data, {})
    // What others wrote meanwhile is in there as well: then it must be read.
    if (written.version !== undefined) file.snapshot = { data, version: written.version }
  }

  /** Returns where a file is that is to be written. */
  #placeOf(file: OpenFile): string {
    const at = this.tree.pathOf(file.id)
    if (at === null) throw failure('ESTALE', 'write')
    return at
  }

  /** Notes that a file is written: what is held back becomes a part of that. */
  #begin(id: string | undefined): void {
    const file = id === undefined ? undefined : this.#files.get(id)
    if (file) file.isTruncated = false
  }
}

/** Returns the option for the mode of a new file, if it is not the default. */
export function modeOption(mode: number): NativeWrite {
  const bits = masked(mode)
  return bits === FILE_MODE ? {} : { mode: bits }
}
