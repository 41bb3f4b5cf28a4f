// Icons of Lucide, for Preact and for plain DOM. Only those that are imported are in the bundle.

import { h } from 'preact'
import type { IconNode } from 'lucide'

const ATTRIBUTES = {
  viewBox: '0 0 24 24',
  fill: 'none',
  stroke: 'currentColor',
  'stroke-width': '1.75',
  'stroke-linecap': 'round',
  'stroke-linejoin': 'round',
  'aria-hidden': 'true',
  class: 'icon',
} as const

export interface IconProps {
  of: IconNode
  /** Whether it points along the line, and is mirrored where that goes to the left. */
  isPointing?: boolean
}

/** Shows an icon. It has no name of its own: the button around it has one. */
export function Icon({ of, isPointing }: IconProps) {
  return h(
    'svg',
    isPointing === true ? { ...ATTRIBUTES, class: 'icon is-pointing' } : ATTRIBUTES,
    of.map(([tag, attributes]) => h(tag, attributes)),
  )
}

/** Makes the element of an icon. */
export function makeIcon(of: IconNode): SVGElement {
  const make = (tag: string, attributes: Record<string, unknown>) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
    return made
  }
  const svg = make('svg', ATTRIBUTES)
  svg.append(...of.map(([tag, attributes]) => make(tag, attributes)))
  return svg
}
