// Those who are here, one entry for each person and each agent, whatever windows they have.

import type { Peer } from '../session/source'

export interface PresentPerson {
  /** Identifies the person among those who are here. */
  key: string
  name: string
  color: string
  agent: boolean
  /** The ids of the files that are open; the one that is known best first. */
  open: string[]
}

export const keyOf = ({ name, agent }: { name: string; agent: boolean }) =>
  `${agent ? 'agent' : 'person'} ${name}`

/** Joins the windows of each person. */
export function listPeople(peers: readonly Peer[]): PresentPerson[] {
  const people = new Map<string, PresentPerson>()
  for (const peer of peers.toSorted((a, b) => a.client - b.client)) {
    const key = keyOf(peer)
    const { name, color, agent, open } = peer
    const known = people.get(key) ?? { key, name, color, agent, open: [] }
    if (open !== null && !known.open.includes(open)) known.open.push(open)
    people.set(key, known)
  }
  return [...people.values()]
}

/** Returns the letters that stand for a name: of two words the first ones. */
export function initialsOf(name: string): string {
  const words = name.split(/[\s._-]+/).filter((word) => word !== '')
  const letters = words.slice(0, 2).map((word) => [...word][0]!)
  return letters.join('').toLocaleUpperCase() || '?'
}
