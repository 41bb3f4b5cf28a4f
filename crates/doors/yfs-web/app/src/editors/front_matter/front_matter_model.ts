// The front matter of a markdown file: a map whose values have the types of YAML.

import { parse, parseDocument, stringify, isMap, isScalar } from 'yaml'
import type * as Y from 'yjs'
import { t } from '../../language/translate'

export type FieldKind = 'text' | 'number' | 'boolean' | 'empty' | 'list' | 'yaml'

export interface FrontMatterField {
  key: string
  value: unknown
  kind: FieldKind
}

const isPlain = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export function kindOf(value: unknown): FieldKind {
  if (value === null || value === undefined) return 'empty'
  if (typeof value === 'string') return value.includes('\n') ? 'yaml' : 'text'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (Array.isArray(value) && value.every(isPlain)) return 'list'
  return 'yaml'
}

/** Returns the text between the fences that the document keeps beside the map; null if none. */
export function storedYaml(source: Y.Map<unknown>): string | null {
  const stored = source.get('front')
  if (typeof stored !== 'string') return null
  const newline = stored.indexOf('\n')
  const lengths = /^(\d+) (\d+)(?: parts)?$/.exec(stored.slice(0, newline))
  if (newline < 0 || lengths === null) return null
  // Fences are ASCII, but for a byte order mark before the first.
  const block = new TextEncoder().encode(stored.slice(newline + 1))
  const [first, last] = [Number(lengths[1]), Number(lengths[2])]
  return new TextDecoder().decode(block.slice(first, block.length - last))
}

/** Returns the number of properties that the map cannot hold: only the text has them. */
export function linesOf(source: Y.Map<unknown>): number {
  return [...source.keys()].filter((key) => key.startsWith('y:')).length
}

/** Returns the fields, in the order of the file, then the new ones. */
export function fieldsOf(map: Y.Map<unknown>, source: Y.Map<unknown>): FrontMatterField[] {
  const order = keysInOrder(storedYaml(source) ?? '')
  const keys = [...map.keys()]
  const place = (key: string) => {
    const found = order.indexOf(key)
    return found < 0 ? order.length : found
  }
  keys.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
  return keys.map((key) => ({
    key,
    value: map.get(key),
    kind: kindOf(map.get(key)),
  }))
}

function keysInOrder(yaml: string): string[] {
  const { contents, errors } = parseDocument(yaml, { strict: false })
  if (errors.length > 0 || !isMap(contents)) return []
  return contents.items.flatMap(({ key }) => (isScalar(key) ? [String(key.value)] : []))
}

/** Returns a value as the text of its field. */
export function textOf({ value, kind }: FrontMatterField): string {
  if (kind === 'yaml') return stringify(value).trimEnd()
  if (kind === 'list') return (value as unknown[]).map((item) => stringify(item).trim()).join(', ')
  return kind === 'empty' ? '' : String(value)
}

/**
 * Returns the value that a text means in a field of a kind.
 *
 * Throws if it means none.
 */
export function valueOf(text: string, kind: FieldKind): unknown {
  switch (kind) {
    case 'text':
      return text
    case 'number': {
      const number = Number(text)
      if (text.trim() === '' || !Number.isFinite(number)) throw new Error(t('not a number'))
      return number
    }
    case 'boolean':
      return text === 'true'
    case 'list': {
      const list: unknown = parse(`[${text}]`)
      if (!Array.isArray(list) || !list.every(isPlain)) throw new Error(t('not a list of values'))
      return list
    }
    case 'empty':
      return text === '' ? null : text
    case 'yaml':
      return parse(text) as unknown
  }
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

// YAML between `---` lines, or TOML between `+++` lines.
const YAML_BLOCK = /^\ufeff?(---)[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/
const TOML_BLOCK = /^\ufeff?(\+\+\+)[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?\+\+\+[ \t]*(?:\r?\n|$)/

const blockOf = (text: string) => YAML_BLOCK.exec(text) ?? TOML_BLOCK.exec(text)

/** Returns the text between the fences of a file; null if it has none. */
export function yamlOf(text: string): string | null {
  const match = blockOf(text)
  return match === null ? null : (match[2] ?? '')
}

/** Reports whether the front matter of a file is TOML. */
export const isToml = (text: string): boolean => blockOf(text)?.[1] === '+++'

/** Returns a text with its front matter, if it has any, replaced by another. */
export function withFrontMatter(text: string, hasFrontMatter: boolean, yaml: string): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : ''
  const block = hasFrontMatter ? blockOf(text) : null
  const fence = block?.[1] ?? '---'
  const body = text.slice(block?.[0].length ?? 0).replace(/^\ufeff/, '')
  const ending = /\r\n/.test(text.slice(0, 4096)) ? '\r\n' : '\n'
  const lines = yaml.replace(/\s+$/, '').split(/\r?\n/).join(ending)
  return mark + (lines === '' ? '' : `${fence}${ending}${lines}${ending}${fence}${ending}`) + body
}
