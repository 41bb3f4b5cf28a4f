// Who had the open file open before, as long as this page is here.

import { effect } from '@preact/signals'
import { language, t } from '../language/translate'
import type { Session } from '../session/workspace'
import { openId } from '../shell/view_state'

interface SeenBy {
  name: string
  at: number
}

/** Those who left a file, by its id, and the last one first. */
const seen = new Map<string, SeenBy[]>()
const MAX_NAMES = 5

/** Remembers who leaves which file. Returns a function that stops it. */
export function observeSeen(session: Session): () => void {
  let before = new Map<string, string>()
  return effect(() => {
    const now = new Map<string, string>()
    for (const { name, agent, open } of session.peers.value) {
      if (open !== null && !agent) now.set(`${open} ${name}`, name)
    }
    for (const [key, name] of before) {
      if (now.has(key)) continue
      const id = key.slice(0, key.indexOf(' '))
      const others = (seen.get(id) ?? []).filter((entry) => entry.name !== name)
      seen.set(id, [{ name, at: Date.now() }, ...others].slice(0, MAX_NAMES))
    }
    before = now
  })
}

/** Says who saw the open file last; the empty text if that is not known. */
export function lastSeenText(session: Session): string {
  const id = openId.value
  const here = new Set(
    session.peers
      .peek()
      .filter((p) => p.open === id)
      .map((p) => p.name),
  )
  const gone = (seen.get(id ?? '') ?? []).filter(({ name }) => !here.has(name))
  const time = new Intl.DateTimeFormat(language.peek(), { timeStyle: 'short' })
  return gone
    .map(({ name, at }) => t('{name} saw this file at {time}', { name, time: time.format(at) }))
    .join('\n')
}
