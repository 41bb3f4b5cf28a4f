// What others say of themselves, checked before any editor reads it: names and colors are shown in
// the page, colors as CSS, and editors search their cursors in the document.

import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import type { WebsocketProvider } from 'y-websocket'
import type { EditorUser } from './types'

const MESSAGE_AWARENESS = 1
const MAX_NAME = 64
const MAX_ID = 256
/**
 * Twelve hues. White text on each has a contrast of 4.5, and each has a contrast of 3 on the grounds
 * of both themes.
 */
export const COLORS: readonly string[] = [
  '#236fea',
  '#a34f13',
  '#2c870e',
  '#bc257f',
  '#046f93',
  '#986e16',
  '#704cd6',
  '#da3448',
  '#1b745c',
  '#ae49c4',
  '#6a6b03',
  '#138287',
]
const HEX_COLOR = /^#[0-9a-f]{6}$/i
/** Controls, unassigned and private characters, surrogates, and formats but for ZWJ of emoji. */
const UNPRINTABLE = /(?!\u200d)\p{C}|[\u2028\u2029]/gu

export function colorOf(name: string): string {
  let sum = 0
  for (const char of name) sum = (sum * 31 + char.codePointAt(0)!) >>> 0
  return COLORS[sum % COLORS.length]!
}

type JsonObject = Record<string, unknown>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a name of printable text; the empty string if nothing of it is printable. */
export function printableName(name: unknown): string {
  if (typeof name !== 'string') return ''
  const start = [...name.slice(0, 4 * MAX_NAME)]
  const plain = start.join('').replace(/\s+/g, ' ').replace(UNPRINTABLE, '').trim()
  return [...plain].slice(0, MAX_NAME).join('')
}

/** Returns the name and the color of a person, in forms that a page can show. */
export function checkedUser(user: unknown): EditorUser | null {
  if (!isObject(user)) return null
  const name = printableName(user['name']) || 'guest'
  const color = user['color']
  const isColor = typeof color === 'string' && HEX_COLOR.test(color)
  return { name, color: isColor ? color : colorOf(name) }
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

const isItemId = (id: unknown) =>
  id == null || (isObject(id) && isCount(id['client']) && isCount(id['clock']))

/** Reports whether a value is a relative position in one of the roots that editors bind. */
function isPosition(position: unknown): boolean {
  if (!isObject(position)) return false
  const { type, item, tname, assoc } = position
  const isRoot = tname == null || tname === 'text' || tname === 'richtext'
  const isPlace = type != null || item != null || tname != null
  const isSide = assoc == null || Number.isSafeInteger(assoc)
  return isRoot && isPlace && isSide && isItemId(type) && isItemId(item)
}

/** Returns what this page reads of a state; null for one that is no object. */
export function checkedState(state: unknown): JsonObject | null {
  if (!isObject(state)) return null
  const checked: JsonObject = {}
  const user = checkedUser(state['user'])
  if (user !== null) {
    const isAgent = isObject(state['user']) && state['user']['agent'] === true
    checked['user'] = { ...user, colorLight: `${user.color}33`, ...(isAgent && { agent: true }) }
  }
  const cursor = state['cursor']
  if (isObject(cursor) && isPosition(cursor['anchor']) && isPosition(cursor['head'])) {
    checked['cursor'] = { anchor: cursor['anchor'], head: cursor['head'] }
  }
  const open = state['open']
  if (typeof open === 'string' && open.length <= MAX_ID) checked['open'] = open
  if (state['writes'] === true) checked['writes'] = true
  return checked
}

function parseState(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

/** Returns an awareness update with checked states; null if it is no such update. */
export function checkedUpdate(update: Uint8Array): Uint8Array | null {
  const encoder = encoding.createEncoder()
  try {
    const decoder = decoding.createDecoder(update)
    const nStates = decoding.readVarUint(decoder)
    encoding.writeVarUint(encoder, nStates)
    for (let n = 0; n < nStates; n++) {
      encoding.writeVarUint(encoder, decoding.readVarUint(decoder))
      encoding.writeVarUint(encoder, decoding.readVarUint(decoder))
      const state = parseState(decoding.readVarString(decoder))
      encoding.writeVarString(encoder, JSON.stringify(checkedState(state)))
    }
  } catch {
    return null
  }
  return encoding.toUint8Array(encoder)
}

/** Checks what arrives of the presence of others before the provider applies it. */
export function checkPresence(provider: WebsocketProvider): void {
  const handle = provider.messageHandlers[MESSAGE_AWARENESS]
  if (handle === undefined) throw new Error('y-websocket has no handler of presence')
  provider.messageHandlers[MESSAGE_AWARENESS] = (encoder, decoder, ...more) => {
    const update = checkedUpdate(decoding.readVarUint8Array(decoder))
    if (update === null) return
    const checked = encoding.createEncoder()
    encoding.writeVarUint8Array(checked, update)
    handle(encoder, decoding.createDecoder(encoding.toUint8Array(checked)), ...more)
  }
}
