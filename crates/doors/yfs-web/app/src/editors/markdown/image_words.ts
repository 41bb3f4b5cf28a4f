// What is said of an image beside its source: a text in its place, a caption, and a width.

import type { Node } from 'prosemirror-model'

export interface ImageWords {
  /** What is read in place of the image. */
  text: string
  /** The caption. */
  title: string
  /** The width in CSS pixels; null for its own. */
  width: number | null
}

/** The width at the end of an alternative text, as Obsidian writes it: `![alt|300](src)`. */
const WIDTH = /\|(\d{1,5})(?:x\d{1,5})?$/

export function readImage({ attrs }: Node): ImageWords {
  const alt = String(attrs['alt'] ?? '')
  const width = WIDTH.exec(alt)?.[1]
  return {
    text: alt.replace(WIDTH, ''),
    title: String(attrs['title'] ?? ''),
    width: width === undefined ? null : Number(width),
  }
}

/** Returns the alternative text that stands for a text and a width. */
export const altOf = ({ text, width }: ImageWords): string =>
  width === null ? text : `${text}|${width}`
