// What `fs.promises.open` returns.

import { EventEmitter } from 'node:events'
import type { ReadStream, WriteStream } from 'node:fs'
import { createInterface, type Interface } from 'node:readline'
import { failure } from './failures.js'
import type { Operations } from './operations.js'
import type { NodeBigIntStats, NodeStats } from './stats.js'
import { run, type Steps } from './steps.js'
import type { Streams } from './streams.js'

type View = NodeJS.ArrayBufferView

/** How a handle reads: the options of `FileHandle.read`. */
interface ReadOptions {
  buffer?: View
  offset?: number | null
  length?: number | null
  position?: number | bigint | null
}

/** How many bytes a handle reads by default. */
const BUFFER_LENGTH = 16_384

/** An open file. */
export class FileHandle extends EventEmitter {
  readonly #fs: Operations
  readonly #streams: Streams
  #fd: number

  constructor(fs: Operations, streams: Streams, fd: number) {
    super()
    this.#fs = fs
    this.#streams = streams
    this.#fd = fd
  }

  /** The number that the calls with descriptors take; -1 once it is closed. */
  get fd(): number {
    return this.#fd
  }

  async close(): Promise<void> {
    if (this.#fd === -1) return
    const fd = this.#fd
    this.#fd = -1
    await run(this.#fs.close(fd))
    this.emit('close')
  }

  async read(
    first?: View | ReadOptions,
    ...rest: unknown[]
  ): Promise<{ bytesRead: number; buffer: View }> {
    const isView = ArrayBuffer.isView(first)
    const named = (
      isView
        ? typeof rest[0] === 'object' && rest[0] !== null
          ? rest[0]
          : { offset: rest[0], length: rest[1], position: rest[2] }
        : first
    ) as ReadOptions | undefined
    const buffer = isView ? first : (named?.buffer ?? Buffer.alloc(BUFFER_LENGTH))
    const { offset, length, position } = named ?? {}
    const bytesRead = await this.#run('read', (fd) =>
      this.#fs.read(fd, buffer, offset ?? 0, length ?? undefined, position ?? null),
    )
    return { bytesRead, buffer }
  }

  async readv(
    buffers: View[],
    position?: number | null,
  ): Promise<{ bytesRead: number; buffers: View[] }> {
    return {
      bytesRead: await this.#run('read', (fd) => this.#fs.readv(fd, buffers, position ?? null)),
      buffers,
    }
  }

  async write(
    data: View | string,
    ...rest: unknown[]
  ): Promise<{ bytesWritten: number; buffer: View | string }> {
    return {
      bytesWritten: await this.#run('write', (fd) => this.#fs.write(fd, data, ...rest)),
      buffer: data,
    }
  }

  async writev(
    buffers: View[],
    position?: number | null,
  ): Promise<{ bytesWritten: number; buffers: View[] }> {
    return {
      bytesWritten: await this.#run('write', (fd) =>
        this.#fs.writev(fd, buffers, position ?? null),
      ),
      buffers,
    }
  }

  /** Reads from where the handle is to the end. */
  readFile(options?: unknown): Promise<Buffer | string> {
    return this.#run('read', (fd) => this.#fs.readFile(fd, options))
  }

  /** Writes where the handle is. */
  writeFile(data: unknown, options?: unknown): Promise<void> {
    return this.#run('write', (fd) => this.#fs.writeFile(fd, data, options))
  }

  appendFile(data: unknown, options?: unknown): Promise<void> {
    return this.writeFile(data, options)
  }

  stat(options?: { bigint?: boolean }): Promise<NodeStats | NodeBigIntStats> {
    return this.#run('fstat', (fd) => this.#fs.fstat(fd, options))
  }

  truncate(length = 0): Promise<void> {
    return this.#run('ftruncate', (fd) => this.#fs.ftruncate(fd, length))
  }

  sync(): Promise<void> {
    return this.#run('fsync', (fd) => this.#fs.fsync(fd))
  }

  datasync(): Promise<void> {
    return this.#run('fdatasync', (fd) => this.#fs.fdatasync(fd))
  }

  chmod(mode: unknown): Promise<void> {
    return this.#run('fchmod', (fd) => this.#fs.fchmod(fd, mode))
  }

  chown(): Promise<void> {
    return this.#run('fchown', (fd) => this.#fs.fchown(fd))
  }

  utimes(atime: unknown, mtime: unknown): Promise<void> {
    return this.#run('futime', (fd) => this.#fs.futimes(fd, atime, mtime))
  }

  createReadStream(options: object = {}): ReadStream {
    const stream = this.#streams.read('', { ...options, fd: this.#fd })
    stream.once('close', () => this.#left(options))
    return stream
  }

  createWriteStream(options: object = {}): WriteStream {
    const stream = this.#streams.write('', { ...options, fd: this.#fd })
    stream.once('close', () => this.#left(options))
    return stream
  }

  readLines(options: object = {}): Interface {
    return createInterface({
      input: this.createReadStream(options),
      crlfDelay: Number.POSITIVE_INFINITY,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Notes that a stream has closed what was open. */
  #left(options: { autoClose?: boolean }): void {
    if (options.autoClose === false) return
    this.#fd = -1
    this.emit('close')
  }

  async #run<T>(syscall: string, work: (fd: number) => Steps<T>): Promise<T> {
    if (this.#fd === -1) throw Object.assign(failure('EBADF', syscall), { message: 'file closed' })
    return run(work(this.#fd))
  }
}
