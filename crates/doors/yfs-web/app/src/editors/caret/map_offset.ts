// Where a place of one text is in another one that says the same, in markdown or without its marks.

/** The letters and digits of a text, without those that only stand for another character. */
class LetterIndex {
  letters = ''
  private readonly offsets: number[] = []

  constructor(readonly text: string) {
    for (const { 0: found, index } of text.matchAll(/&#?[\da-z]+;|[\p{L}\p{N}]/giu)) {
      if (found[0] === '&') continue
      this.letters += found
      for (let unit = 0; unit < found.length; unit++) this.offsets.push(index + unit)
    }
  }

  /** Returns how many letters stand before an offset. */
  countBefore(offset: number): number {
    let low = 0
    let high = this.offsets.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.offsets[middle]! < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Returns the range between a letter and the one before it. */
  gapBefore(nth: number): { from: number; to: number } {
    const from = nth === 0 ? 0 : this.offsets[nth - 1]! + 1
    return { from, to: this.offsets[nth] ?? this.text.length }
  }
}

export interface MappedOffset {
  offset: number
  /** The blanks before the place that the other text does not have. */
  missing: string
  /** The length of the character reference before the place that stands for a blank. */
  reference: number
}

/** The numbers of letters on each side by which a place is found. */
const CONTEXTS = [64, 32, 16, 8, 4, 2, 1]
const SYNTAX = /^[*_`~\\[\](){}<>#|!+-]*/
const BLANK_REFERENCE = /^&#(?:32|x20);/i

/** Finds the places of one text in another one. */
export class OffsetMap {
  private readonly former: LetterIndex
  private readonly present: LetterIndex

  constructor(from: string, to: string) {
    this.former = new LetterIndex(from)
    this.present = new LetterIndex(to)
  }

  /** Returns the place of an offset in the other text. */
  map(offset: number): MappedOffset {
    const { former, present } = this
    const nBefore = former.countBefore(offset)
    const nth = findLetter(former.letters, nBefore, present.letters)
    const gap = former.gapBefore(nBefore)
    const target = present.gapBefore(nth)
    const left = former.text.slice(gap.from, offset)
    const right = former.text.slice(offset, gap.to)
    const isBeforeLetter = target.to < present.text.length
    const gapText = present.text.slice(target.from, target.to)
    const mapped = placeInGap(left, right, gapText, isBeforeLetter)
    return { ...mapped, offset: target.from + mapped.offset }
  }
}

/** Returns the letter of a text that follows the same letters as one of another text. */
function findLetter(from: string, nBefore: number, to: string): number {
  for (const n of CONTEXTS) {
    const left = from.slice(Math.max(0, nBefore - n), nBefore)
    const right = from.slice(nBefore, nBefore + n)
    for (const [key, shift] of [
      [left + right, left.length],
      [left, left.length],
      [right, 0],
    ] as const) {
      const found = key === '' ? null : findSame(from, nBefore - shift, key, to)
      if (found !== null) return found + shift
    }
  }
  return Math.min(nBefore, to.length)
}

/** Returns where the occurrence of a string in one text is in another one. */
function findSame(from: string, at: number, key: string, to: string): number | null {
  const before = occurrences(from, key)
  const after = occurrences(to, key)
  if (after.length === 0) return null
  if (after.length === before.length) return after[before.indexOf(at)] ?? null
  const wanted = (at * to.length) / Math.max(1, from.length)
  return after.reduce((best, one) =>
    Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best,
  )
}

function occurrences(text: string, key: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(key); at >= 0; at = text.indexOf(key, at + 1)) found.push(at)
  return found
}

/** Returns the place between two letters that is after the same blanks and marks as before. */
function placeInGap(
  left: string,
  right: string,
  gap: string,
  isBeforeLetter: boolean,
): MappedOffset {
  let at = 0
  let missing = ''
  let reference = 0
  if (left !== '' && right === '' && isBeforeLetter) {
    return { offset: gap.length, missing, reference }
  }
  for (const unit of left) {
    reference = unit === ' ' ? (BLANK_REFERENCE.exec(gap.slice(at))?.[0].length ?? 0) : 0
    const skipped = SYNTAX.exec(gap.slice(at))![0].length
    if (reference > 0) at += reference
    else if (gap[at] === unit) at += 1
    else if (gap[at + skipped] === unit) at += skipped + 1
    else {
      missing += unit
      continue
    }
    missing = ''
  }
  // A line that the other text does not have ends at the line before.
  return { offset: at, missing: /^[ \t]+$/.test(missing) ? missing : '', reference }
}
