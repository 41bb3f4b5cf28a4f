// Who had which file open before, and when that was seen last. Kept in this browser, for each
// workspace by the ids of files.

import { effect } from '@preact/signals'
import { fullTime } from '../language/relative_time'
import { t } from '../language/translate'
import type { Session } from '../session/workspace'

/** The times at which people had a file open, by their names. */
type SeenBy = Record<string, number>

const MAX_FILES = 300
const MAX_NAMES = 5

const keyOf = (session: Session) => `yfs:last-seen:${session.id}`

let seen: Record<string, SeenBy> = {}

/** Reads what is kept. What is no object of objects of numbers is left out. */
function load(session: Session): void {
  seen = {}
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(session)) ?? '{}')
    for (const [id, names] of Object.entries(stored ?? {})) {
      const times = Object.entries((names as object | null) ?? {})
      seen[id] = Object.fromEntries(times.filter(([, at]) => Number.isFinite(at)))
    }
  } catch {
    // Without storage it begins anew.
  }
}

/** Keeps the latest entries. */
function cut<V>(entries: Record<string, V>, max: number, timeOf: (value: V) => number) {
  const latest = Object.entries(entries).sort(([, a], [, b]) => timeOf(b) - timeOf(a))
  return Object.fromEntries(latest.slice(0, max)) as Record<string, V>
}

function note(session: Session, id: string, name: string): void {
  seen[id] = cut({ ...seen[id], [name]: Date.now() }, MAX_NAMES, (at) => at)
  seen = cut(seen, MAX_FILES, (names) => Math.max(...Object.values(names)))
  try {
    localStorage.setItem(keyOf(session), JSON.stringify(seen))
  } catch {
    // It is known as long as the page is open.
  }
}

/**
 * Remembers who opens and leaves which file. Who is out of sight because a connection is lost was
 * there until then. Returns a function that stops it.
 */
export function observeSeen(session: Session): () => void {
  load(session)
  let before = new Map<string, { id: string; name: string }>()
  return effect(() => {
    const now: typeof before = new Map()
    for (const { name, agent, open } of session.peers.value) {
      if (open !== null && !agent) now.set(JSON.stringify([open, name]), { id: open, name })
    }
    for (const [key, { id, name }] of [...before, ...now]) {
      if (!(before.has(key) && now.has(key))) note(session, id, name)
    }
    before = now
  })
}

/** Says who saw a file last and has it not open now, a line for each. */
export function lastSeenText(session: Session, id: string | null): string {
  const names = seen[id ?? ''] ?? {}
  const here = session.peers.peek().filter(({ open, agent }) => open === id && !agent)
  const present = [session.person.peek().name, ...here.map(({ name }) => name)]
  const gone = Object.entries(names).filter(([name]) => !present.includes(name))
  return gone
    .sort(([, a], [, b]) => b - a)
    .map(([name, at]) => t('Last seen by {name}: {time}', { name, time: fullTime(at) }))
    .join('\n')
}
