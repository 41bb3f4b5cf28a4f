// Times as people say them: "5 minutes ago", and in full where there is room.

import { language } from './translate'

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['week', 7 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
]

/** Returns how long ago a time is, in milliseconds since 1970, as in "2 hours ago". */
export function relativeTime(at: number, now = Date.now()): string {
  const format = new Intl.RelativeTimeFormat(language.peek(), { numeric: 'auto' })
  const seconds = (at - now) / 1000
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  return format.format(unit === 'second' ? 0 : Math.round(seconds / length), unit)
}

/** Returns a time in full, as the language writes it. */
export function fullTime(at: number): string {
  return new Date(at).toLocaleString(language.peek(), { dateStyle: 'medium', timeStyle: 'short' })
}
