// The calls of `fs`, each once, as an operation that runs at once or with promises (`faces.ts`
// makes the calls from them).

import { constants } from 'node:fs'
import { outOfRange, wrongType } from '../invalid.js'
import { Pacer } from '../pages.js'
import { join, parentOf, resolve } from '../paths.js'
import {
  bytesOf,
  descriptorOf,
  flagsOf,
  masked,
  modeOf,
  type Options,
  optionsOf,
  pathOf,
  timeOf,
  encodeText,
} from './arguments.js'
import { codeOf, failure, asSystemError } from './failures.js'
import { type Descriptor, type Kernel, modeOption } from './kernel.js'
import { type Facts, NodeBigIntStats, NodeDirent, NodeStats } from './stats.js'
import { pause, type Steps } from './steps.js'
import type { About, Place, Tree } from './tree.js'

const { COPYFILE_EXCL, O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY, W_OK, X_OK } =
  constants

/** The flags of a plain `writeFile`, and of a plain `appendFile`. */
const [REPLACE, ADD] = [O_TRUNC | O_CREAT | O_WRONLY, O_APPEND | O_CREAT | O_WRONLY]

/** Letters that a temporary name is made of. */
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** The calls of `fs` on a workspace. */
export class Operations {
  readonly kernel: Kernel
  readonly #dev: number
  readonly #isReadOnly: boolean

  constructor(kernel: Kernel, dev: number, isReadOnly: boolean) {
    this.kernel = kernel
    this.#dev = dev
    this.#isReadOnly = isReadOnly
  }

  get tree(): Tree {
    return this.kernel.tree
  }

  *access(path: unknown, mode: unknown = 0): Steps<void> {
    const place = this.#find('access', path)
    const found = this.tree.must(place, true)
    const isAsked = (bit: number): boolean => (modeOf(mode, 0) & bit) !== 0
    if (isAsked(W_OK) && this.#isReadOnly) throw failure('EROFS', ...place.about)
    const isRunnable = found.kind === 'directory' || (found.mode & 0o111) !== 0
    if (isAsked(X_OK) && !isRunnable) throw failure('EACCES', ...place.about)
  }

  *exists(path: unknown): Steps<boolean> {
    try {
      return this.tree.look(this.#find('access', path), true) !== undefined
    } catch {
      return false
    }
  }

  *stat(
    path: unknown,
    options?: { bigint?: boolean; throwIfNoEntry?: boolean },
  ): Steps<NodeStats | NodeBigIntStats | undefined> {
    return this.#stat(pathOf(path), true, 'stat', options)
  }

  *lstat(
    path: unknown,
    options?: { bigint?: boolean; throwIfNoEntry?: boolean },
  ): Steps<NodeStats | NodeBigIntStats | undefined> {
    return this.#stat(pathOf(path), false, 'lstat', options)
  }

  *fstat(fd: unknown, options?: { bigint?: boolean }): Steps<NodeStats | NodeBigIntStats> {
    return this.#statsOf(this.kernel.facts(this.#descriptor(fd, 'fstat'), 'fstat'), options)
  }

  *readFile(path: unknown, given?: unknown): Steps<Buffer | string> {
    const options = optionsOf(given)
    const flags = flagsOf(options.flag)
    const data =
      typeof path === 'number'
        ? yield* this.#readAll(this.#descriptor(path, 'read'))
        : yield* this.#readPath(pathOf(path), flags)
    const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    return options.encoding && options.encoding !== 'buffer'
      ? buffer.toString(options.encoding as BufferEncoding)
      : buffer
  }

  *writeFile(path: unknown, data: unknown, given?: unknown): Steps<void> {
    const options = optionsOf(given)
    yield* this.#writeAll(path, data, options, flagsOf(options.flag, REPLACE))
  }

  *appendFile(path: unknown, data: unknown, given?: unknown): Steps<void> {
    const options = optionsOf(given)
    yield* this.#writeAll(path, data, options, flagsOf(options.flag ?? 'a'))
  }

  *open(path: unknown, flags?: unknown, mode?: unknown): Steps<number> {
    const { fd } = yield* this.kernel.open(pathOf(path), flagsOf(flags), modeOf(mode, 0o666))
    return fd
  }

  *close(fd: unknown): Steps<void> {
    yield* this.kernel.close(descriptorOf(fd))
  }

  /** Reads into a buffer; answers how many bytes. */
  *read(
    fd: unknown,
    buffer: NodeJS.ArrayBufferView,
    offset = 0,
    length = buffer.byteLength - offset,
    position: number | bigint | null = null,
  ): Steps<number> {
    const number = descriptorOf(fd)
    const into = bytesOf(buffer, null)
    checkRange(offset, length, into.length)
    if (length === 0) return 0
    const descriptor = this.#descriptor(number, 'read')
    const at = position === null || Number(position) < 0 ? null : Number(position)
    const data = yield* this.kernel.read(descriptor, length, at)
    into.set(data, offset)
    return data.length
  }

  *readv(
    fd: unknown,
    buffers: NodeJS.ArrayBufferView[],
    position: number | null = null,
  ): Steps<number> {
    let n = 0
    for (const buffer of buffers) {
      const at = typeof position === 'number' ? position + n : null
      const read: number = yield* this.read(fd, buffer, 0, buffer.byteLength, at)
      n += read
      if (read < buffer.byteLength) break
    }
    return n
  }

  /** Writes a part of a buffer, or a text; answers how many bytes. */
  *write(fd: unknown, data: unknown, ...rest: unknown[]): Steps<number> {
    const descriptor = this.#descriptor(fd, 'write')
    if (typeof data === 'string') {
      const [position, encoding] = rest as [number | null | undefined, string | undefined]
      return yield* this.kernel.write(
        descriptor,
        bytesOf(data, encoding),
        typeof position === 'number' ? position : null,
      )
    }
    const [offset, length, position] = partOf(rest)
    const bytes = bytesOf(data, null)
    const end = length === undefined ? bytes.length : offset + length
    checkRange(offset, end - offset, bytes.length)
    return yield* this.kernel.write(descriptor, bytes.subarray(offset, end), position)
  }

  *writev(fd: unknown, buffers: NodeJS.ArrayBufferView[], position?: number | null): Steps<number> {
    const all = Buffer.concat(buffers.map((buffer) => bytesOf(buffer, null)))
    return yield* this.kernel.write(
      this.#descriptor(fd, 'write'),
      all,
      typeof position === 'number' ? position : null,
    )
  }

  *ftruncate(fd: unknown, length: number = 0): Steps<void> {
    yield* this.kernel.truncate(this.#descriptor(fd, 'ftruncate'), lengthOf(length))
  }

  *truncate(path: unknown, length: number = 0): Steps<void> {
    const fd = yield* this.open(path, 'r+')
    try {
      yield* this.ftruncate(fd, length)
    } finally {
      yield* this.close(fd)
    }
  }

  *fsync(fd: unknown): Steps<void> {
    this.#descriptor(fd, 'fsync')
    yield* this.kernel.settle()
    yield* this.tree.flush()
  }

  *fdatasync(fd: unknown): Steps<void> {
    this.#descriptor(fd, 'fdatasync')
    yield* this.fsync(fd)
  }

  *chmod(path: unknown, mode: unknown): Steps<void> {
    const place = this.#find('chmod', path)
    const bits = modeOf(mode, 0) & 0o7777
    this.tree.must(place, true)
    yield* this.#done(this.tree.chmod(place.at, bits), place.about)
  }

  *fchmod(fd: unknown, mode: unknown): Steps<void> {
    const bits = modeOf(mode, 0) & 0o7777
    yield* this.#onPath(fd, 'fchmod', { mode: bits }, (at) => this.tree.chmod(at, bits))
  }

  /** Checks only that the path exists, because there are no owners. */
  *chown(path: unknown): Steps<void> {
    this.tree.must(this.#find('chown', path), true)
  }

  *lchown(path: unknown): Steps<void> {
    this.tree.must(this.#find('lchown', path), false)
  }

  *fchown(fd: unknown): Steps<void> {
    this.#descriptor(fd, 'fchown')
  }

  *utimes(path: unknown, atime: unknown, mtime: unknown): Steps<void> {
    timeOf(atime)
    const ms = timeOf(mtime)
    const place = this.#find('utime', path)
    // What is held back would set another time later.
    yield* this.kernel.settle(this.tree.must(place, true).id)
    yield* this.#done(this.tree.utimes(place.at, ms), place.about)
  }

  /** As `utimes`; links have no times to set. */
  *lutimes(path: unknown, atime: unknown, mtime: unknown): Steps<void> {
    timeOf(atime)
    const ms = timeOf(mtime)
    const place = this.#find('lutime', path)
    const found = this.tree.must(place, false)
    if (found.kind !== 'symlink') yield* this.#done(this.tree.utimes(place.at, ms), place.about)
  }

  *futimes(fd: unknown, atime: unknown, mtime: unknown): Steps<void> {
    timeOf(atime)
    const ms = timeOf(mtime)
    const { file } = this.#descriptor(fd, 'futime')
    if (typeof file !== 'string') yield* this.kernel.settle(file.id)
    yield* this.#onPath(fd, 'futime', { mtimeMs: ms }, (at) => this.tree.utimes(at, ms))
  }

  *mkdir(path: unknown, given?: unknown): Steps<string | undefined> {
    const { recursive = false, mode } = (
      typeof given === 'object' && given !== null ? given : { mode: given }
    ) as { recursive?: boolean; mode?: unknown }
    const place = this.#locate('mkdir', path)
    const bits = masked(modeOf(mode, 0o777))
    if (!recursive) {
      if (place.dots !== '') this.#checkParent(place)
      if (place.at === '/' || place.dots !== '') throw failure('EEXIST', ...place.about)
      yield* this.#done(this.tree.mkdir(place.at, false, bits === 0o755 ? null : bits), place.about)
      return undefined
    }
    return yield* this.#mkdirs(place, bits)
  }

  *mkdtemp(prefix: unknown, given?: unknown): Steps<string | Buffer> {
    const text = pathOf(prefix, 'prefix')
    const options = optionsOf(given)
    for (;;) {
      const ending = Array.from(
        { length: 6 },
        () => LETTERS[Math.floor(Math.random() * LETTERS.length)],
      ).join('')
      const place = this.#locate('mkdtemp', text + ending)
      try {
        yield* this.tree.mkdir(place.at, false, 0o700)
        return encodeText(text + ending, options)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw asSystemError(error, ...place.about)
      }
    }
  }

  *rmdir(path: unknown): Steps<void> {
    const place = this.#locate('rmdir', path)
    if (place.dots !== '') this.#checkParent(place)
    const fail = (code: string): Error => failure(code, ...place.about)
    const found = this.tree.must(place, false)
    if (found.kind !== 'directory') throw fail('ENOTDIR')
    if (place.dots !== '') throw fail(place.dots === '.' ? 'EINVAL' : 'ENOTEMPTY')
    yield* this.#done(this.tree.remove(place.at, false), place.about)
  }

  *unlink(path: unknown): Steps<void> {
    const place = this.#locate('unlink', path)
    if (place.dots !== '') this.#checkParent(place)
    const found = this.tree.must(place, false)
    if (found.kind === 'directory') throw failure('EISDIR', ...place.about)
    if (place.isDirectory) throw failure('ENOTDIR', ...place.about)
    yield* this.kernel.detach(place.at)
    yield* this.#done(this.tree.remove(place.at, false), place.about)
  }

  *rename(from: unknown, to: unknown): Steps<void> {
    const about: About = ['rename', pathOf(from, 'oldPath'), pathOf(to, 'newPath')]
    // A kernel resolves both directories before it checks their entries.
    const source = this.tree.locate(about[1]!, ...about)
    this.#checkParent(source)
    const target = this.tree.locate(about[2]!, ...about)
    this.#checkParent(target)
    if (source.dots !== '' || target.dots !== '') throw failure('EBUSY', ...about)
    const found = this.tree.must(source, false)
    const isNamedDirectory = source.isDirectory || target.isDirectory
    if (isNamedDirectory && found.kind !== 'directory') throw failure('ENOTDIR', ...about)
    const there = this.tree.look(target, false)
    yield* this.kernel.settle()
    yield* this.#done(this.tree.move(source.at, target.at), about)
    if (there) this.kernel.becomes(found.id, this.tree.facts(target.at, false).id)
  }

  *copyFile(from: unknown, to: unknown, flags: unknown = 0): Steps<void> {
    const about: About = ['copyfile', pathOf(from, 'src'), pathOf(to, 'dest')]
    const isExclusive = (modeOf(flags, 0) & COPYFILE_EXCL) !== 0
    const source = this.tree.find(about[1]!, ...about)
    const found = this.tree.must(source, true)
    const target = this.tree.locate(about[2]!, ...about)
    if (target.isDirectory)
      throw failure(
        this.tree.lacksParent(target) ?? (isExclusive && target.dots !== '' ? 'EEXIST' : 'EISDIR'),
        ...about,
      )
    const there = this.tree.look(target, !isExclusive)
    if (there && isExclusive) throw failure('EEXIST', ...about)
    if (there?.id === found.id) return
    if (found.kind === 'directory' || there?.kind === 'directory') throw failure('EISDIR', ...about)
    this.#checkParent(target)
    yield* this.kernel.settle()
    const at = there ? this.tree.realpath(target.at) : yield* this.#endOfLink(target)
    yield* this.#done(this.tree.copy(this.tree.realpath(source.at), at), about)
    yield* this.#done(this.tree.utimes(at, Date.now()), about)
  }

  *link(existing: unknown, path: unknown): Steps<void> {
    const about: About = ['link', pathOf(existing, 'existingPath'), pathOf(path, 'newPath')]
    const source = this.tree.find(about[1]!, ...about)
    const found = this.tree.must(source, false)
    const target = this.#free(about[2]!, about)
    if (found.kind === 'directory') throw failure('EPERM', ...about)
    yield* this.kernel.settle()
    yield* this.#done(this.tree.copy(source.at, target.at), about)
  }

  *symlink(target: unknown, path: unknown): Steps<void> {
    const about: About = ['symlink', pathOf(target, 'target'), pathOf(path)]
    if (about[1] === '') throw failure('ENOENT', ...about)
    const place = this.#free(about[2]!, about)
    yield* this.#done(this.tree.symlink(about[1]!, place.at), about)
  }

  *readlink(path: unknown, given?: unknown): Steps<string | Buffer> {
    const place = this.#find('readlink', path)
    if (this.tree.must(place, false).kind !== 'symlink') throw failure('EINVAL', ...place.about)
    return encodeText(this.tree.readlink(place.at), optionsOf(given))
  }

  /** Follows all links; `..` is taken by the text of the path alone, as Node's own does. */
  *realpath(path: unknown, given?: unknown): Steps<string | Buffer> {
    const text = resolve(this.tree.cwd, pathOf(path))
    return yield* this.realpathNative(text, given)
  }

  /** Follows all links as a kernel does. */
  *realpathNative(path: unknown, given?: unknown): Steps<string | Buffer> {
    const place = this.#find('realpath', path)
    this.tree.must(place, true)
    return encodeText(this.tree.realpath(place.at), optionsOf(given))
  }

  *readdir(path: unknown, given?: unknown): Steps<(string | Buffer | NodeDirent)[]> {
    const options = optionsOf(given)
    const text = pathOf(path)
    const place = this.#directory(text, 'scandir')
    const found: (string | Buffer | NodeDirent)[] = []
    const pending: [string, string][] = [[place.at, '']]
    const pacer = new Pacer()
    for (const [at, below] of pending) {
      if (options.recursive) yield* pause(pacer)
      for (const { name, kind } of this.tree.names(at)) {
        const path = below === '' ? name : `${below}/${name}`
        if (options.withFileTypes)
          found.push(
            new NodeDirent(
              encodeText(name, options),
              below === '' ? text : joined(text, below),
              kind,
            ),
          )
        else found.push(encodeText(path, options))
        if (options.recursive && kind === 'directory') pending.push([join(at, name), path])
      }
    }
    return found
  }

  /** Finds a directory that is to be read. */
  #directory(text: string, syscall: string): Place {
    const place = this.tree.find(text, syscall, text)
    if (this.tree.must(place, true).kind !== 'directory') throw failure('ENOTDIR', ...place.about)
    return place
  }

  /** Finds a directory for `opendir`. */
  directory(text: string): string {
    return this.#directory(text, 'opendir').at
  }

  #stat(
    text: string,
    follow: boolean,
    syscall: string,
    options: { bigint?: boolean; throwIfNoEntry?: boolean } = {},
  ): NodeStats | NodeBigIntStats | undefined {
    try {
      const found = this.tree.must(this.tree.find(text, syscall, text), follow)
      return this.#statsOf({ ...found, size: this.kernel.size(found.id, found.size) }, options)
    } catch (error) {
      const isNothing =
        options.throwIfNoEntry === false && ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
      if (isNothing) return undefined
      throw error
    }
  }

  #statsOf(facts: Facts, options: { bigint?: boolean } = {}): NodeStats | NodeBigIntStats {
    return options.bigint ? new NodeBigIntStats(facts, this.#dev) : new NodeStats(facts, this.#dev)
  }

  #descriptor(fd: unknown, syscall: string): Descriptor {
    return this.kernel.descriptor(descriptorOf(fd), syscall)
  }

  #find(syscall: string, path: unknown): Place {
    const text = pathOf(path)
    return this.tree.find(text, syscall, text)
  }

  #locate(syscall: string, path: unknown): Place {
    const text = pathOf(path)
    return this.tree.locate(text, syscall, text)
  }

  /** Returns the place of a new entry. Throws if the path exists. */
  #free(path: string, about: About): Place {
    const place = this.tree.locate(path, ...about)
    this.#checkParent(place)
    if (this.tree.look(place, false)) throw failure('EEXIST', ...about)
    if (place.isDirectory) throw failure('ENOENT', ...about)
    return place
  }

  /** Throws if the parent is not a directory. */
  #checkParent(place: Place): void {
    const code = this.tree.lacksParent(place)
    if (code) throw failure(code, ...place.about)
  }

  /** Returns the path at which a link that leads nowhere would make a file. */
  *#endOfLink(place: Place): Steps<string> {
    const there = this.tree.look(place, false)
    if (there?.kind !== 'symlink') return place.at
    yield* this.#done(this.tree.write(place.at, new Uint8Array(), {}), place.about)
    return this.tree.realpath(place.at)
  }

  *#readPath(text: string, flags: number): Steps<Uint8Array> {
    if ((flags & 3) !== O_RDONLY || (flags & O_CREAT) !== 0) {
      const fd = yield* this.open(text, flags)
      try {
        return yield* this.#readAll(this.#descriptor(fd, 'read'))
      } finally {
        yield* this.close(fd)
      }
    }
    const place = this.tree.find(text, 'open', text)
    const found = this.tree.must(place, true)
    if (found.kind === 'directory') throw failure('EISDIR', 'read')
    return yield* this.#done(this.kernel.content(found, place.at), place.about)
  }

  *#readAll(descriptor: Descriptor): Steps<Uint8Array> {
    return yield* this.kernel.read(descriptor, Number.MAX_SAFE_INTEGER, null)
  }

  *#writeAll(path: unknown, data: unknown, options: Options, flags: number): Steps<void> {
    const bytes = bytesOf(data, options.encoding)
    if (typeof path === 'number') {
      yield* this.kernel.write(this.#descriptor(path, 'write'), bytes, null)
      return
    }
    const place = this.#locate('open', path)
    const mode = modeOf(options.mode, 0o666)
    const kind = flags & ~O_EXCL
    if ((kind === REPLACE || kind === ADD) && !place.isDirectory)
      yield* this.#writePlace(place, bytes, flags, mode)
    else yield* this.#writeOpened(pathOf(path), bytes, flags, mode)
  }

  /** Writes a file without a descriptor. */
  *#writePlace(place: Place, bytes: Uint8Array, flags: number, mode: number): Steps<void> {
    const isExclusive = (flags & O_EXCL) !== 0
    const found = this.tree.look(place, !isExclusive)
    if (found && isExclusive) throw failure('EEXIST', ...place.about)
    if (found?.kind === 'directory') throw failure('EISDIR', ...place.about)
    const options = { create: isExclusive ? 'new' : 'any', ...(found ? {} : modeOption(mode)) }
    const isAdded = (flags & O_TRUNC) === 0
    const work = isAdded
      ? this.kernel.append(place.at, bytes, found, options)
      : this.kernel.replace(place.at, bytes, found, options)
    yield* this.#done(work, place.about)
  }

  *#writeOpened(path: string, bytes: Uint8Array, flags: number, mode: number): Steps<void> {
    const descriptor = yield* this.kernel.open(path, flags, mode)
    try {
      yield* this.kernel.write(descriptor, bytes, null)
    } finally {
      yield* this.kernel.close(descriptor.fd)
    }
  }

  *#mkdirs(place: Place, mode: number): Steps<string | undefined> {
    const missing: string[] = []
    for (let at = place.at; ; at = parentOf(at)) {
      const found = this.tree.look({ ...place, at }, true)
      if (found?.kind === 'directory') break
      // A file, or a link that leads nowhere.
      if (found)
        throw failure(at === place.at && !place.isDirectory ? 'EEXIST' : 'ENOTDIR', ...place.about)
      const isLink = this.tree.look({ ...place, at }, false) !== undefined
      if (isLink)
        throw at === place.at ? failure('ENOENT', ...place.about) : failure('ENOTDIR', 'mkdir', at)
      missing.push(at)
    }
    const bits = mode === 0o755 ? null : mode
    for (const at of missing.toReversed()) {
      yield* this.#done(this.tree.mkdir(at, true, bits), place.about)
    }
    return missing.at(-1)
  }

  /**
   * Sets facts at the path of an open descriptor. For a file that is no longer in the tree, they
   * last as long as it is open.
   */
  *#onPath(
    fd: unknown,
    syscall: string,
    facts: Partial<Facts>,
    work: (at: string) => Steps<void>,
  ): Steps<void> {
    const descriptor = this.#descriptor(fd, syscall)
    const { file } = descriptor
    const at = this.tree.pathOf(typeof file === 'string' ? file : file.id)
    if (at === null) this.kernel.note(descriptor, facts)
    else yield* this.#done(work(at), [syscall])
  }

  /** Runs an operation, and reports its failure as that of a system call. */
  *#done<T>(work: Steps<T>, about: About): Steps<T> {
    try {
      return yield* work
    } catch (error) {
      throw asSystemError(error, ...about)
    }
  }
}

function joined(text: string, below: string): string {
  return text.endsWith('/') ? text + below : `${text}/${below}`
}

function partOf(rest: unknown[]): [number, number | undefined, number | null] {
  const [first, length, position] = rest
  if (typeof first === 'object' && first !== null) {
    const given = first as { offset?: number; length?: number; position?: number | null }
    return [given.offset ?? 0, given.length, given.position ?? null]
  }
  const at = typeof position === 'number' ? position : null
  return [
    (first as number | null | undefined) ?? 0,
    (length as number | null | undefined) ?? undefined,
    at,
  ]
}

function checkRange(offset: number, length: number, size: number): void {
  if (offset < 0 || offset > size) throw outOfRange('offset', `>= 0 && <= ${size}`, offset)
  if (length < 0) throw outOfRange('length', '>= 0', length)
  if (length > size - offset) throw outOfRange('length', `<= ${size - offset}`, length)
}

function lengthOf(length: unknown): number {
  if (typeof length !== 'number') throw wrongType('len', 'of type number', length)
  if (!Number.isInteger(length)) throw outOfRange('len', 'an integer', length)
  return Math.max(0, length)
}
