// Colors that differ among those who are here.

import { COLORS } from '../documents/presence'
import type { EditorUser } from '../documents'
import type { Peer } from './source'

/**
 * Returns the color of a person: the present one, unless another who was here first has it. Windows
 * of one person have one color. Of two who meet, the one with the greater number changes.
 */
export function freeColor(own: EditorUser, client: number | null, peers: readonly Peer[]): string {
  const number = client ?? Infinity
  const same = peers.find((peer) => peer.name === own.name && !peer.agent && peer.client < number)
  if (same !== undefined) return same.color
  const others = peers.filter((peer) => peer.name !== own.name || peer.agent)
  const isContested = others.some(
    (peer) => peer.color === own.color && (peer.client < number || peer.agent),
  )
  if (!isContested) return own.color
  const taken = new Set(others.map(({ color }) => color))
  const from = Math.max(0, COLORS.indexOf(own.color))
  const order = COLORS.map((_, index) => COLORS[(from + index) % COLORS.length]!)
  return order.find((color) => !taken.has(color)) ?? own.color
}
