// The trash, with a way back for each node.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { TrashEntry } from '../session/workspace'
import { report } from './message'
import type { PanelProps } from './panels'

export function TrashPanel({ session, onClose }: PanelProps) {
  const dialog = useRef<HTMLElement>(null)
  useEffect(() => dialog.current?.focus(), [])
  const [entries, setEntries] = useState<TrashEntry[] | null>(null)
  const load = () => report(session.listTrash().then(setEntries))
  const listing = session.entries.value
  useEffect(() => void load(), [listing])
  return (
    <div class="overlay" onClick={onClose}>
      <section
        class="trash"
        ref={dialog}
        role="dialog"
        tabIndex={-1}
        aria-label="Trash"
        onClick={(event) => event.stopPropagation()}
      >
        <header>
          <h2>Trash</h2>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </header>
        {entries?.length === 0 && <p class="faint">The trash is empty.</p>}
        <ul>
          {entries?.map((entry) => (
            <li key={entry.id}>
              <span class="trash-path" title={entry.original}>
                {entry.original}
              </span>
              {!session.readOnly && (
                <button
                  type="button"
                  aria-label={`Restore ${entry.original}`}
                  onClick={() => void report(session.restore(entry.id)).then(load)}
                >
                  Restore
                </button>
              )}
            </li>
          ))}
        </ul>
      </section>
    </div>
  )
}
