// What happens in the workspace, the latest first: who changed which file, people and agents alike.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { actorInfo } from '../history/actors'
import type { Session } from '../session/workspace'

interface WorkspaceChange {
  type: 'created' | 'changed' | 'moved' | 'removed'
  path: string
  from: string | null
  kind: string
  actor: string | null
  at: number
}

/** How many changes are listed. */
const LIMIT = 200

const changes = signal<WorkspaceChange[]>([])
let source: EventSource | null = null

/** Follows the changes of the workspace from now on, over the whole visit. */
function follow(session: Session): void {
  if (source !== null) return
  const query = session.token === '' ? '' : `?token=${encodeURIComponent(session.token)}`
  source = new EventSource(`/events${query}`)
  source.addEventListener('change', ({ data }) => {
    const change = JSON.parse(data as string) as WorkspaceChange
    const [last] = changes.peek()
    // Typing is one entry, however many updates it makes.
    const isSame =
      last?.path === change.path && last.actor === change.actor && last.type === change.type
    changes.value = [change, ...changes.peek().slice(isSame ? 1 : 0, LIMIT)]
  })
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
      {changes.value.length === 0 && (
        <p class="faint">Changes appear here as people and agents make them.</p>
      )}
      <ol>
        {changes.value.map((change, index) => (
          <li key={`${change.at} ${index}`}>
            <ActorName actor={change.actor} /> {change.type}{' '}
            {change.kind === 'file' && change.type !== 'removed' ? (
              <button type="button" class="as-link" onClick={() => onOpen(change.path)}>
                {change.path}
              </button>
            ) : (
              change.path
            )}{' '}
            <time class="faint" dateTime={new Date(change.at).toISOString()}>
              {new Date(change.at).toLocaleTimeString()}
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
