// The arguments of `fs` as Node reads them: paths, flags, modes, times, encodings, data.

import { constants } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bytesOf as bytesOfView } from '../given.js'
import { outOfRange, wrongType, wrongValue } from '../invalid.js'

const { O_APPEND, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_SYNC, O_TRUNC, O_WRONLY } = constants

/** What new files and directories never are, whatever is asked for: writable for others. */
const UMASK = 0o022

const FLAGS: Record<string, number> = {
  r: O_RDONLY,
  rs: O_RDONLY | O_SYNC,
  'r+': O_RDWR,
  'rs+': O_RDWR | O_SYNC,
  w: O_TRUNC | O_CREAT | O_WRONLY,
  wx: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL,
  'w+': O_TRUNC | O_CREAT | O_RDWR,
  'wx+': O_TRUNC | O_CREAT | O_RDWR | O_EXCL,
  a: O_APPEND | O_CREAT | O_WRONLY,
  ax: O_APPEND | O_CREAT | O_WRONLY | O_EXCL,
  as: O_APPEND | O_CREAT | O_WRONLY | O_SYNC,
  'a+': O_APPEND | O_CREAT | O_RDWR,
  'ax+': O_APPEND | O_CREAT | O_RDWR | O_EXCL,
  'as+': O_APPEND | O_CREAT | O_RDWR | O_SYNC,
}
for (const [from, to] of [
  ['sr', 'rs'],
  ['sr+', 'rs+'],
  ['xw', 'wx'],
  ['xw+', 'wx+'],
  ['xa', 'ax'],
  ['xa+', 'ax+'],
  ['sa', 'as'],
  ['sa+', 'as+'],
]) {
  FLAGS[from!] = FLAGS[to!]!
}

/** Reads a path: a text, bytes, or a `file:` URL. */
export function pathOf(path: unknown, name = 'path'): string {
  let text: unknown = path
  if (path instanceof URL) text = fileURLToPath(path)
  else if (path instanceof Uint8Array)
    text = Buffer.from(path.buffer, path.byteOffset, path.byteLength).toString()
  if (typeof text !== 'string')
    throw wrongType(name, 'of type string or an instance of Buffer or URL', path)
  if (text.includes('\0'))
    throw wrongValue(name, 'must be a string, Uint8Array, or URL without null bytes', text)
  return text
}

/** Reads how a file is opened. */
export function flagsOf(flags: unknown, otherwise = O_RDONLY): number {
  if (flags === undefined || flags === null) return otherwise
  if (typeof flags === 'number') return flags
  const known = typeof flags === 'string' && Object.hasOwn(FLAGS, flags) ? FLAGS[flags] : undefined
  if (known === undefined) throw wrongValue('flags', 'is invalid', flags)
  return known
}

/** Reads permission bits: a number, or octal digits. */
export function modeOf(mode: unknown, otherwise: number, name = 'mode'): number {
  if (mode === undefined || mode === null) return otherwise
  if (typeof mode === 'string') {
    if (!/^[0-7]+$/.test(mode))
      throw wrongValue(name, 'must be a 32-bit unsigned integer or an octal string', mode)
    return Number.parseInt(mode, 8)
  }
  if (typeof mode !== 'number') throw wrongType(name, 'of type number', mode)
  if (!Number.isInteger(mode)) throw outOfRange(name, 'an integer', mode)
  if (mode < 0 || mode > 0xffffffff) throw outOfRange(name, '>= 0 && <= 4294967295', mode)
  return mode
}

/** Returns the permission bits of a new file or directory. */
export function masked(mode: number): number {
  return mode & 0o7777 & ~UMASK
}

/** Reads a time as milliseconds: seconds, a date, or seconds as digits. */
export function timeOf(time: unknown): number {
  if (typeof time === 'string' && time !== '' && Number.isFinite(Number(time)))
    return Number(time) * 1000
  if (typeof time === 'number' && !Number.isNaN(time))
    return Number.isFinite(time) && time >= 0 ? time * 1000 : Date.now()
  if (time instanceof Date) return time.getTime()
  throw wrongType('time', 'an instance of Date or an Time in seconds', time)
}

/** Options of a call, which may be given as an encoding. */
export interface Options {
  encoding?: string | null
  [name: string]: unknown
}

/** Reads options that may be given as an encoding. */
export function optionsOf(options: unknown): Options {
  if (options === undefined || options === null || typeof options === 'function') return {}
  if (typeof options === 'string') return checked({ encoding: options })
  if (typeof options !== 'object')
    throw wrongType('options', 'one of type string or object', options)
  return checked(options as Options)
}

function checked(options: Options): Options {
  const { encoding } = options
  if (encoding && encoding !== 'buffer' && !Buffer.isEncoding(encoding))
    throw wrongValue('encoding', 'is invalid encoding', encoding)
  const { signal } = options as { signal?: AbortSignal }
  if (signal?.aborted)
    throw Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
      name: 'AbortError',
      code: 'ABORT_ERR',
    })
  return options
}

/** Returns a text in the encoding of the options. */
export function encodeText(text: string, options: Options): string | Buffer {
  const { encoding } = options
  if (!encoding || encoding === 'utf8' || encoding === 'utf-8') return text
  const bytes = Buffer.from(text)
  return encoding === 'buffer' ? bytes : bytes.toString(encoding as BufferEncoding)
}

/** Returns the bytes of what is to be written; they may be the caller's own. */
export function bytesOf(data: unknown, encoding: string | null | undefined): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, (encoding ?? 'utf8') as BufferEncoding)
  return bytesOfView(data)
}

/** Refuses what is no descriptor. */
export function descriptorOf(fd: unknown): number {
  if (typeof fd !== 'number') throw wrongType('fd', 'of type number', fd)
  if (!Number.isInteger(fd)) throw outOfRange('fd', 'an integer', fd)
  if (fd < 0 || fd > 2147483647) throw outOfRange('fd', '>= 0 && <= 2147483647', fd)
  return fd
}
