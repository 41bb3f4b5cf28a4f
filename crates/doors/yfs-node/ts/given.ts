// Checks what callers give: texts, content, options. What makes no sense is refused before anything
// changes.

import { outOfRange, wrongType, wrongValue } from './invalid.js'

/**
 * The values that a member of options may have: a type, or one of some words. `mode` is permission
 * bits, `count` is at least 0.
 */
export type MemberType =
  | 'string'
  | 'string[]'
  | 'boolean'
  | 'number'
  | 'count'
  | 'mode'
  | 'content'
  | 'AbortSignal'
  | 'PreviewLimit'
  | readonly string[]

/** Says the type of each member of options. */
export type Members<T> = { [Name in keyof Required<T>]: MemberType }

const encoder = new TextEncoder()

/** The units in which the length of a preview is limited. */
const LENGTHS = ['characters', 'bytes', 'tokens']

/** Returns a request to the native half as JSON. Halves of surrogate pairs have no bytes. */
export function requestOf(op: string, request: object = {}): string {
  return JSON.stringify({ op, ...request }, (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value,
  )
}

/** Returns a text. */
export function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string') throw wrongType(name, 'of type string', value)
  return value
}

/** Returns a text; null if there is none. */
export function optionalText(value: unknown, name: string): string | null {
  return value === undefined || value === null ? null : textOf(value, name)
}

/** Returns one of some words. */
export function wordOf<Word extends string>(
  value: unknown,
  words: readonly Word[],
  name: string,
): Word {
  check(value, words, name)
  return value as Word
}

/** Returns the bytes of content, which may be the caller's own. */
export function contentOf(value: unknown, name = 'data'): Uint8Array {
  if (typeof value === 'string') return encoder.encode(value)
  return bytesOf(value, name)
}

/** Returns the bytes of a view, which are the caller's own. */
export function bytesOf(value: unknown, name = 'data'): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  throw wrongType(name, 'of type string or an instance of Buffer, TypedArray, or DataView', value)
}

/** Returns the length of a preview as JSON. */
export function limitOf(value: unknown, name = 'limit'): string {
  if (typeof value !== 'object' || value === null) throw wrongType(name, 'of type object', value)
  const lengths = Object.entries(value)
  if (lengths.length !== 1) throw wrongValue(name, `must have one of ${LENGTHS.join(', ')}`, value)
  for (const [unit, length] of lengths) {
    if (!LENGTHS.includes(unit))
      throw wrongValue(`${name}.${unit}`, `is unknown; there are ${LENGTHS.join(', ')}`, length)
    check(length, 'count', `${name}.${unit}`)
  }
  return JSON.stringify(value)
}

/** Returns a time in milliseconds. */
export function timeOf(value: unknown, name: string): number {
  if (typeof value !== 'number' && !(value instanceof Date))
    throw wrongType(name, 'of type number or an instance of Date', value)
  const time = Number(value)
  if (!Number.isFinite(time)) throw outOfRange(name, 'a finite time', value)
  return time
}

/** Returns a number. */
export function numberOf(value: unknown, name: string): number {
  check(value, 'number', name)
  return value as number
}

/** Returns texts. */
export function textsOf(value: unknown, name: string): string[] {
  check(value, 'string[]', name)
  return value as string[]
}

/** Returns permission bits. */
export function modeOf(value: unknown, name: string): number {
  check(value, 'mode', name)
  return value as number
}

/** Returns options, none of whose members is unknown or of another type. */
export function optionsOf<T extends object>(given: T, members: Members<T>, name = 'options'): T {
  if (typeof given !== 'object' || given === null) throw wrongType(name, 'of type object', given)
  for (const [member, value] of Object.entries(given)) {
    const type = Object.hasOwn(members, member) ? members[member as keyof T] : undefined
    if (type === undefined)
      throw wrongValue(
        `${name}.${member}`,
        `is unknown; there are ${Object.keys(members).join(', ')}`,
        value,
      )
    if (value !== undefined) check(value, type, `${name}.${member}`)
  }
  return given
}

function check(value: unknown, type: MemberType, name: string): void {
  if (typeof type === 'object') {
    textOf(value, name)
    if (!type.includes(value as string))
      throw wrongValue(name, `must be one of ${type.join(', ')}`, value)
    return
  }
  switch (type) {
    case 'string[]':
      if (!Array.isArray(value)) throw wrongType(name, 'an instance of Array', value)
      for (const item of value) textOf(item, name)
      return
    case 'content':
      contentOf(value, name)
      return
    case 'AbortSignal':
      if (!(value instanceof AbortSignal))
        throw wrongType(name, 'an instance of AbortSignal', value)
      return
    case 'PreviewLimit':
      limitOf(value, name)
      return
    case 'count':
    case 'mode':
    case 'number':
      return checkNumber(value, type, name)
    default:
      if (typeof value !== type) throw wrongType(name, `of type ${type}`, value)
  }
}

function checkNumber(value: unknown, type: 'count' | 'mode' | 'number', name: string): void {
  if (typeof value !== 'number') throw wrongType(name, 'of type number', value)
  if (type === 'number' && !Number.isFinite(value)) throw outOfRange(name, 'a finite number', value)
  if (type === 'count' && !(value >= 0)) throw outOfRange(name, '>= 0', value)
  if (type === 'mode' && !(Number.isInteger(value) && value >= 0 && value <= 0o7777))
    throw outOfRange(name, '>= 0 && <= 4095', value)
}
