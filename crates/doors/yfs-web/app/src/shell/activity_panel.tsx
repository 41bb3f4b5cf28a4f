// What happens in the workspace, the latest first: who changed which file, people and agents alike.
// It is read from the log of the server, and again after each change while the panel is open: an
// event stream in every tab would use up the few connections that a browser opens to one server.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { actorInfo } from '../history/actors'
import type { Session } from '../session/workspace'
import { report } from './message'

interface LogEntry {
  at: number
  path: string
  id: string
  kind: string
  change: 'created' | 'edited' | 'deleted'
  actor: string | null
  version: number | null
}

/** How many changes are listed. */
const LIMIT = 100

/** How long changes are collected before the log is read again. */
const PAUSE_MS = 500

const entries = signal<LogEntry[] | null>(null)

async function load(session: Session): Promise<void> {
  const response = await session.call('GET', `/api/log?limit=${LIMIT}`)
  entries.value = ((await response.json()) as { entries: LogEntry[] }).entries
}

/** Reads the log now, and after changes, until the returned function is called. */
function follow(session: Session): () => void {
  void report(load(session))
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = session.onChange(() => {
    timer ??= setTimeout(() => {
      timer = undefined
      load(session).catch(() => {
        // The banner says that there is no connection.
      })
    }, PAUSE_MS)
  })
  return () => {
    clearTimeout(timer)
    stop()
  }
}

export interface ActivityPanelProps {
  session: Session
  onOpen: (path: string) => void
  onClose: () => void
}

export function ActivityPanel({ session, onOpen, onClose }: ActivityPanelProps) {
  useEffect(() => follow(session), [])
  return (
    <aside class="activity" aria-label="Activity">
      <header>
        <h2>Activity</h2>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </header>
      {entries.value?.length === 0 && <p class="faint">No file was changed yet.</p>}
      <ol>
        {entries.value?.map((entry) => (
          <li key={`${entry.id} ${entry.version ?? entry.at}`}>
            <ActorName actor={entry.actor} /> {entry.change}{' '}
            {entry.kind === 'file' && entry.change !== 'deleted' ? (
              <button type="button" class="as-link" onClick={() => onOpen(entry.path)}>
                {entry.path}
              </button>
            ) : (
              entry.path
            )}{' '}
            <time class="faint" dateTime={new Date(entry.at).toISOString()}>
              {new Date(entry.at).toLocaleTimeString()}
            </time>
          </li>
        ))}
      </ol>
    </aside>
  )
}

function ActorName({ actor }: { actor: string | null }) {
  const { kind, name, title } = actorInfo(actor)
  return (
    <strong>
      {name}
      {kind !== 'human' && kind !== 'unknown' && <span class="faint"> ({title})</span>}
    </strong>
  )
}
