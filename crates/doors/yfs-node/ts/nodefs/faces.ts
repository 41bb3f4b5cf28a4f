// The three forms of `fs`: calls with callbacks, synchronous calls, and calls that return promises.

import { constants } from 'node:fs'
import { promisify } from 'node:util'
import { wrongType } from '../invalid.js'
import { optionsOf, pathOf } from './arguments.js'
import { NodeDir } from './directory.js'
import { FileHandle } from './handle.js'
import type { Operations } from './operations.js'
import { NodeBigIntStats, NodeDirent, NodeStats } from './stats.js'
import { goOn, run, runNow, type Steps } from './steps.js'
import { Streams } from './streams.js'
import { cp, rm } from './trees.js'
import { type Changes, NodeWatcher, watched } from './watch.js'

type Call = (...args: never[]) => unknown
type Operation = (...args: unknown[]) => Steps<unknown>

/** What takes a path. */
const BY_PATH = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'copyFile',
  'lchown',
  'link',
  'lstat',
  'lutimes',
  'mkdir',
  'mkdtemp',
  'readFile',
  'readdir',
  'readlink',
  'realpath',
  'rename',
  'rmdir',
  'stat',
  'symlink',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
] as const

/** What takes a descriptor, or makes one. */
const BY_DESCRIPTOR = [
  'close',
  'fchmod',
  'fchown',
  'fdatasync',
  'fstat',
  'fsync',
  'ftruncate',
  'futimes',
  'open',
  'read',
  'readv',
  'write',
  'writev',
] as const

/** The argument, by index, that a callback receives beside the number of bytes. */
const SECOND_RESULTS: Record<string, [index: number, count: string, name: string]> = {
  read: [1, 'bytesRead', 'buffer'],
  readv: [1, 'bytesRead', 'buffers'],
  write: [1, 'bytesWritten', 'buffer'],
  writev: [1, 'bytesWritten', 'buffers'],
}

/** Makes an object that has what `node:fs` has. */
export function facesOf(fs: Operations, changes: Changes): Record<string, unknown> {
  const operations = operationsOf(fs)
  const streams = new Streams(fs)
  const made: Record<string, unknown> = {}
  for (const [name, operation] of Object.entries(operations)) {
    made[name] = calledBack(operation, SECOND_RESULTS[name])
    made[`${name}Sync`] = (...args: unknown[]) => runNow(operation(...args))
  }
  // Both spellings, as `node:fs` has them.
  for (const ending of ['', 'Sync']) {
    Object.assign(made[`realpath${ending}`] as object, { native: made[`realpathNative${ending}`] })
    delete made[`realpathNative${ending}`]
  }
  const watch = (path: unknown, ...rest: unknown[]): NodeWatcher => {
    const listener = rest.find((it) => typeof it === 'function')
    const watcher = new NodeWatcher(fs.tree, changes, path, rest[0])
    if (listener) watcher.on('change', listener as (...args: unknown[]) => void)
    return watcher
  }
  return {
    ...made,
    ...existing(fs),
    createReadStream: (path: unknown, options?: unknown) => streams.read(path, options),
    createWriteStream: (path: unknown, options?: unknown) => streams.write(path, options),
    watch,
    promises: promisesOf(fs, operations, streams, changes),
    constants,
    F_OK: constants.F_OK,
    R_OK: constants.R_OK,
    W_OK: constants.W_OK,
    X_OK: constants.X_OK,
    Stats: NodeStats,
    BigIntStats: NodeBigIntStats,
    Dirent: NodeDirent,
    Dir: NodeDir,
  }
}

function operationsOf(fs: Operations): Record<string, Operation> {
  const found: Record<string, Operation> = {}
  for (const name of [...BY_PATH, ...BY_DESCRIPTOR]) found[name] = (fs[name] as Operation).bind(fs)
  found.realpathNative = (path, options) => fs.realpathNative(path, options)
  found.rm = (path, options) => rm(fs, path, options as Parameters<typeof rm>[2])
  found.cp = (from, to, options) => cp(fs, from, to, options as Parameters<typeof cp>[3])
  found.opendir = (path) => opendir(fs, path)
  return found
}

function* opendir(fs: Operations, path: unknown): Steps<NodeDir> {
  const text = pathOf(path)
  return new NodeDir(fs.tree, text, fs.directory(text))
}

/** Makes the form with a callback. Arguments of a wrong type are refused at once. */
function calledBack(operation: Operation, second?: [number, string, string]): Call {
  const call = (...args: unknown[]): void => {
    const done = args.pop()
    if (typeof done !== 'function') throw wrongType('cb', 'of type function', undefined)
    const steps = operation(...args)
    const answer = (...values: unknown[]): void => process.nextTick(done, ...values)
    let first
    try {
      first = steps.next()
    } catch (error) {
      if (isOfArguments(error)) throw error
      return answer(error)
    }
    goOn(steps, first).then(
      (value) =>
        answer(null, ...(value === undefined ? [] : [value]), ...(second ? [args[second[0]]] : [])),
      answer,
    )
  }
  if (second) {
    const [index, count, name] = second
    Object.assign(call, {
      [promisify.custom]: async (...args: unknown[]) => ({
        [count]: await run(operation(...args)),
        [name]: args[index],
      }),
    })
  }
  return call
}

function isOfArguments(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^ERR_(INVALID_ARG|OUT_OF_RANGE)/.test(code)
}

/** Returns the calls that only report whether a path exists. */
function existing(fs: Operations): object {
  const exists = (path: unknown, done: (there: boolean) => void): void => {
    if (typeof done !== 'function') throw wrongType('cb', 'of type function', done)
    const report = (there: boolean): void => process.nextTick(done, there)
    run(fs.exists(path)).then(report, () => report(false))
  }
  Object.assign(exists, { [promisify.custom]: (path: unknown) => run(fs.exists(path)) })
  return { exists, existsSync: (path: unknown) => runNow(fs.exists(path)) }
}

function promisesOf(
  fs: Operations,
  operations: Record<string, Operation>,
  streams: Streams,
  changes: Changes,
): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const name of [...BY_PATH, 'rm', 'cp', 'opendir']) {
    const operation = operations[name]!
    made[name] = async (first: unknown, ...rest: unknown[]) =>
      run(operation(first instanceof FileHandle ? first.fd : first, ...rest))
  }
  made.realpath = async (path: unknown, options: unknown) => run(fs.realpathNative(path, options))
  for (const name of ['writeFile', 'appendFile']) {
    const write = made[name] as (...args: unknown[]) => Promise<void>
    made[name] = async (path: unknown, data: unknown, options: unknown) =>
      write(path, await gathered(data, options), options)
  }
  const open = async (path: unknown, flags?: unknown, mode?: unknown): Promise<FileHandle> =>
    new FileHandle(fs, streams, await run(fs.open(path, flags, mode)))
  const watch = async function* (
    path: unknown,
    given?: unknown,
  ): AsyncGenerator<unknown, void, void> {
    const options = optionsOf(given)
    const stop = new AbortController()
    const { signal } = options as { signal?: AbortSignal }
    signal?.addEventListener('abort', () => stop.abort())
    try {
      yield* watched(fs.tree, changes, path, options, stop.signal)
    } finally {
      stop.abort()
    }
  }
  return { ...made, open, watch, constants }
}

/** Gathers data that comes in pieces. */
async function gathered(data: unknown, given: unknown): Promise<unknown> {
  const isWhole =
    typeof data === 'string' ||
    ArrayBuffer.isView(data) ||
    typeof data !== 'object' ||
    data === null
  if (isWhole || !(Symbol.asyncIterator in data || Symbol.iterator in data)) return data
  const { encoding } = optionsOf(given)
  const pieces: Uint8Array[] = []
  for await (const piece of data as AsyncIterable<string | Uint8Array>) {
    pieces.push(
      typeof piece === 'string'
        ? Buffer.from(piece, (encoding ?? 'utf8') as BufferEncoding)
        : piece,
    )
  }
  return Buffer.concat(pieces)
}
