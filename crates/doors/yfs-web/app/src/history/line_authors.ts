// What is said of the authors of a line.

import { relativeTime } from '../language/relative_time'
import { plural, t } from '../language/translate'
import { nameInText } from '../trust/author'
import type { BlameLine } from './versions_api'

/** The part that one author has in a line. */
export interface AuthorShare {
  actor: string | null
  chars: number
}

/** Returns the shares of authors in a line, the greatest first; a run counts for its author. */
export function sharesOf(line: BlameLine): AuthorShare[] {
  const byActor = new Map<string | null, AuthorShare>()
  for (const { actor, chars } of line.shares) {
    const share = byActor.get(actor) ?? { actor, chars: 0 }
    share.chars += chars
    byActor.set(actor, share)
  }
  return [...byActor.values()].sort((a, b) => b.chars - a.chars)
}

export const isMixed = (line: BlameLine): boolean => sharesOf(line).length > 1

/** Says what an author has of a line. */
export function shareText({ actor, chars }: AuthorShare): string {
  const name = nameInText(actor)
  if (chars === 0) return t('{name}: a deletion or a format', { name })
  return plural(chars, '{name}: 1 character', '{name}: {n} characters', { name })
}

/** Says who changed a line last, and who else has a share in it. */
export function describeLine(line: BlameLine): string {
  const name = nameInText(line.actor)
  const when = line.at === null ? '' : relativeTime(line.at)
  const last = t('Line {n}: {name} changed it last, {when}', { n: line.line, name, when })
  if (!isMixed(line)) return last
  return `${last} – ${sharesOf(line).map(shareText).join(', ')}`
}

export interface AuthoredRange {
  actor: string | null
  from: number
  to: number
}

/** Returns the ranges of a line that one author wrote each, in UTF-16 units of its text. */
export function rangesOf(line: BlameLine): AuthoredRange[] {
  const characters = [...line.text.replace(/\r$/, '')]
  const ranges: AuthoredRange[] = []
  let [at, from] = [0, 0]
  for (const { share, chars } of line.parts ?? []) {
    const length = characters.slice(at, at + chars).join('').length
    const actor = share === null ? null : (line.shares[share]?.actor ?? null)
    if (length > 0) ranges.push({ actor, from, to: from + length })
    at += chars
    from += length
  }
  return ranges
}
