// What is a link in text: `[words](address)`, and an address that stands alone.

import type { ResolvedPos } from 'prosemirror-model'

const ADDRESS = /(?:^|[\s("'«„“])((?:https?:\/\/|www\.)[^\s<>]*[^\s<>])$/i
const WHOLE_ADDRESS = /^(?:https?:\/\/|mailto:|www\.)[^\s<>]+$/i
const MARKDOWN_LINK = /(^|[^!\\])\[([^[\]]+)\]\(((?:[^\s()]|\([^\s()]*\))+)\)$/
const SAFE_SCHEME = /^(?:https?|mailto|tel|ftp):/i
const DOMAIN =
  /^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|app|edu|gov|eu|de|uk|fr|ch|at|jp)(?:\/|$)/i

/** What takes the place of pictures and the like in the text of a block; as long as they are. */
const ATOM = '\ufffc'

/** Returns the text of the block before a place. */
export const textBefore = ($place: ResolvedPos): string =>
  $place.parent.textBetween(0, $place.parentOffset, ATOM, ATOM)

/** Takes off the punctuation that ends a sentence and not the address. */
function trimAddress(found: string): string {
  let address = found
  for (;;) {
    const end = address.at(-1) ?? ''
    const opens = address.split('(').length
    const isExtra = end === ')' && address.split(')').length > opens
    if (!isExtra && !/[.,;:!?'"»”\]*_~]/.test(end)) return address
    address = address.slice(0, -1)
  }
}

/** Returns the address with which a text ends, and its distance from the end of the text. */
export function addressAtEnd(text: string): { address: string; from: number } | null {
  const found = ADDRESS.exec(text)?.[1]
  if (found === undefined) return null
  const address = trimAddress(found)
  if (!/^(?:https?:\/\/\w|www\.\w+\.\w)/i.test(address)) return null
  return { address, from: text.length - found.length }
}

export interface TypedLink {
  words: string
  href: string
  /** Where the bracket is. */
  from: number
}

/** Returns the link of markdown with which a text ends. */
export function markdownLinkAtEnd(text: string): TypedLink | null {
  const match = MARKDOWN_LINK.exec(text)
  if (match === null) return null
  const [, lead = '', words = '', address = ''] = match
  const href = hrefOf(address)
  return href === null ? null : { words, href, from: match.index + lead.length }
}

/** Reports whether a whole text is one address. */
export const isAddress = (text: string): boolean => WHOLE_ADDRESS.test(text)

/** Returns the target for what a person entered; null if it could run code. */
export function hrefOf(entered: string): string | null {
  const address = entered.trim().replace(/\s/g, (space) => encodeURIComponent(space))
  if (address === '') return null
  if (/^www\./i.test(address)) return `http://${address}`
  if (/^[^\s/:@]+@[^\s/:@]+\.[a-z]+$/i.test(address)) return `mailto:${address}`
  if (DOMAIN.test(address)) return `https://${address}`
  const hasScheme = /^[a-z][a-z0-9+.-]*:/i.test(address)
  return hasScheme && !SAFE_SCHEME.test(address) ? null : address
}
