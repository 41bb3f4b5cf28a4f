// Sizes for people.

import { language } from '../language/translate'

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

/** Returns a number of bytes in the unit in which it is short. */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const format = new Intl.NumberFormat(language.peek(), {
    style: 'unit',
    unit: UNITS[power]!,
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  })
  return format.format(bytes / 1000 ** power)
}
