// Two nodes of one name: a person gives one another name, or moves one to the trash. The conflict
// ends when one node is left that has the name (docs/tree.md).

import { useEffect, useRef } from 'preact/hooks'
import type { Session, TreeEntry } from '../session/workspace'
import { join, nameOf, parentOf } from '../tree/tree_model'
import { report } from './message'

export interface SharedNamePanelProps {
  session: Session
  /** One of the nodes. */
  id: string
  onOpen: (path: string) => void
  onClose: () => void
}

/** Returns the nodes that have the stored name of a node in its directory. */
function nodesOfSameName(session: Session, id: string): { name: string; nodes: TreeEntry[] } {
  const rows = session.rows.value
  const row = rows.get(id)
  const path = session.pathsById.value.get(id)
  if (row === undefined || path === undefined) return { name: '', nodes: [] }
  const directory = parentOf(path)
  const nodes = session.entries.value.filter((entry) => {
    return parentOf(entry.path) === directory && rows.get(entry.guid)?.name === row.name
  })
  return { name: row.name, nodes }
}

export function SharedNamePanel({ session, id, onOpen, onClose }: SharedNamePanelProps) {
  const dialog = useRef<HTMLElement>(null)
  useEffect(() => dialog.current?.focus(), [])
  const { name, nodes } = nodesOfSameName(session, id)
  return (
    <div class="overlay" onClick={onClose}>
      <section
        class="trash"
        ref={dialog}
        role="dialog"
        tabIndex={-1}
        aria-label="Files of one name"
        onClick={(event) => event.stopPropagation()}
      >
        <header>
          <h2>{nodes.length < 2 ? 'Settled' : `${nodes.length} files are named ${name}`}</h2>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </header>
        <p class="faint">
          {nodes.length < 2
            ? 'No other file has this name any more.'
            : 'They were made or renamed at once. Rename one of them, or move one to the trash.'}
        </p>
        <ul>
          {nodes.length > 1 &&
            nodes.map((entry) => (
              <SharedNameRow key={entry.guid} session={session} entry={entry} onOpen={onOpen} />
            ))}
        </ul>
      </section>
    </div>
  )
}

interface SharedNameRowProps {
  session: Session
  entry: TreeEntry
  onOpen: (path: string) => void
}

function SharedNameRow({ session, entry, onOpen }: SharedNameRowProps) {
  const input = useRef<HTMLInputElement>(null)
  const { path, size, mtime, kind } = entry
  const shown = nameOf(path)
  const rename = (event: Event) => {
    event.preventDefault()
    const name = input.current!.value.trim()
    if (name !== '') void report(session.move(path, join(parentOf(path), name)))
  }
  return (
    <li class="shared-name">
      <button type="button" class="as-link" onClick={() => onOpen(path)}>
        {shown}
      </button>
      <span class="faint">
        {kind === 'directory' ? 'folder' : `${size.toLocaleString()} bytes`},{' '}
        {new Date(mtime).toLocaleString()}
      </span>
      {!session.readOnly && (
        <form onSubmit={rename}>
          <input ref={input} aria-label={`New name of ${shown}`} placeholder="New name" />
          <button type="submit">Rename</button>
          <button
            type="button"
            aria-label={`Move ${shown} to the trash`}
            onClick={() => void report(session.trash(path))}
          >
            Trash
          </button>
        </form>
      )}
    </li>
  )
}
