// Streams: Node's own, over the descriptors of a workspace.
//
// A stream appends its data in chunks that grow with the file, so that a long file is not read from
// its beginning for each chunk. All data is in the file when the stream has finished.

import { ReadStream, WriteStream } from 'node:fs'
import type { Operations } from './operations.js'
import { run } from './steps.js'

type Done = (error: Error | null, n?: number, data?: unknown) => void

/** How much is gathered at least before it is written. */
const PIECE = 1024 * 1024

/** What a stream has written and the workspace has not. */
interface Gathered {
  chunks: Buffer[]
  length: number
  /** Where the first of it belongs; nothing if that is where the descriptor is. */
  position: number | null
  /** How much was written before. */
  written: number
}

/** Makes the streams of a workspace. */
export class Streams {
  readonly #fs: Operations
  readonly #gathered = new Map<number, Gathered>()

  constructor(fs: Operations) {
    this.#fs = fs
  }

  read(path: unknown, options: unknown): ReadStream {
    const fs = this.#fs
    const calls = {
      open: (path: unknown, flags: unknown, mode: unknown, done: Done) =>
        answer(run(fs.open(path, flags, mode)), done),
      read: (
        fd: number,
        buffer: Buffer,
        offset: number,
        length: number,
        position: number | null,
        done: Done,
      ) => answer(run(fs.read(fd, buffer, offset, length, position ?? null)), done, buffer),
      close: (fd: number, done: Done) => answer(run(fs.close(fd)), done),
    }
    return new (ReadStream as unknown as StreamClass<ReadStream>)(path, withCalls(options, calls))
  }

  write(path: unknown, options: unknown): WriteStream {
    const fs = this.#fs
    const calls = {
      open: (path: unknown, flags: unknown, mode: unknown, done: Done) =>
        answer(run(fs.open(path, flags, mode)), done),
      write: (
        fd: number,
        buffer: Buffer,
        offset: number,
        length: number,
        position: number | undefined,
        done: Done,
      ) =>
        answer(
          this.#gather(fd, [buffer.subarray(offset, offset + length)], position),
          done,
          buffer,
        ),
      writev: (fd: number, buffers: Buffer[], position: number | undefined, done: Done) =>
        answer(this.#gather(fd, buffers, position), done, buffers),
      fsync: (fd: number, done: Done) =>
        answer(
          this.#flush(fd).then(() => run(fs.fsync(fd))),
          done,
        ),
      close: (fd: number, done: Done) => answer(this.#close(fd), done),
    }
    const stream = new (WriteStream as unknown as StreamClass<WriteStream>)(
      path,
      withCalls(options, calls),
    )
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its stream below
    const final = stream._final as WriteStream['_final'] | undefined
    // What is gathered is written before the stream says that it has finished.
    stream._final = (done): void => {
      const { fd } = stream as WriteStream & { fd: number | null }
      this.#flush(fd ?? -1).then(() => (final ? final.call(stream, done) : done()), done)
    }
    return stream
  }

  async #gather(fd: number, buffers: Buffer[], position: number | undefined): Promise<number> {
    let gathered = this.#gathered.get(fd)
    if (gathered === undefined) {
      gathered = { chunks: [], length: 0, position: position ?? null, written: 0 }
      this.#gathered.set(fd, gathered)
    }
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0)
    gathered.chunks.push(...buffers.map((buffer) => Buffer.from(buffer)))
    gathered.length += length
    if (gathered.length >= Math.max(PIECE, gathered.written)) await this.#flush(fd)
    return length
  }

  async #close(fd: number): Promise<void> {
    try {
      await this.#flush(fd)
    } finally {
      this.#gathered.delete(fd)
      await run(this.#fs.close(fd))
    }
  }

  async #flush(fd: number): Promise<void> {
    const gathered = this.#gathered.get(fd)
    if (gathered === undefined || gathered.length === 0) return
    const { chunks, length, position } = gathered
    Object.assign(gathered, {
      chunks: [],
      length: 0,
      position: position === null ? null : position + length,
      written: gathered.written + length,
    })
    await run(this.#fs.writev(fd, chunks, position))
  }
}

/** How Node's streams are made, the calls that replace its own included. */
type StreamClass<T> = new (path: unknown, options: object) => T

function withCalls(options: unknown, calls: object): object {
  const given = typeof options === 'string' ? { encoding: options } : (options ?? {})
  return { ...given, fs: calls }
}

function answer(work: Promise<unknown>, done: Done, data?: unknown): void {
  work.then(
    (value) => done(null, value as number, data),
    (error: Error) => done(error),
  )
}
