// How many conflicts a person should settle, for a badge. The server looks for them after changes,
// at most every few seconds.

import { signal } from '@preact/signals'
import type { Session } from '../session/workspace'

export interface Conflict {
  kind: string
  id: string
  path: string
  detail: string
}

/** The conflicts that the server found; null until it was asked. */
export const conflicts = signal<Conflict[] | null>(null)
export const nConflicts = signal(0)

const PAUSE_MS = 2000

/** Conflicts that a person ends in the page. The others are shown, with what the server says. */
export async function readConflicts(session: Session): Promise<void> {
  const response = await session.call('GET', '/api/conflicts')
  conflicts.value = ((await response.json()) as { conflicts: Conflict[] }).conflicts
  nConflicts.value = conflicts.peek()!.length
}

/** Reads the conflicts now and after changes, until the returned function is called. */
export function followConflicts(session: Session): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const read = () => {
    timer = undefined
    readConflicts(session).catch(() => {
      // The banner says that there is no connection.
    })
  }
  read()
  const stop = session.onChange(() => (timer ??= setTimeout(read, PAUSE_MS)))
  return () => {
    clearTimeout(timer)
    stop()
  }
}
