// Quick open: files by the letters of their paths, as in VS Code.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Session } from '../session/workspace'

/** How many matches are listed. */
const LIMIT = 50

/** Ranks a path: letters in order, better in the name, together and at beginnings. */
export function score(path: string, query: string): number | null {
  const [text, letters] = [path.toLowerCase(), query.toLowerCase()]
  const name = text.slice(text.lastIndexOf('/') + 1)
  if (name.startsWith(letters)) return 3000 - path.length
  if (name.includes(letters)) return 2000 - path.length
  if (text.includes(letters)) return 1000 - path.length
  let at = -1
  for (const letter of letters) {
    at = text.indexOf(letter, at + 1)
    if (at === -1) return null
  }
  return -path.length
}

export interface QuickOpenProps {
  session: Session
  onOpen: (path: string) => void
  onClose: () => void
}

export function QuickOpen({ session, onOpen, onClose }: QuickOpenProps) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went elsewhere.
  useLayoutEffect(() => input.current?.focus(), [])
  const matches = useMemo(() => {
    const files = session.entries.peek().filter(({ kind }) => kind !== 'directory')
    const scored = files.flatMap(({ path }) => {
      const rank = score(path, query)
      return rank === null ? [] : [{ path, rank }]
    })
    scored.sort((a, b) => b.rank - a.rank || (a.path < b.path ? -1 : 1))
    return scored.slice(0, LIMIT).map(({ path }) => path)
  }, [query])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt(Math.max(0, Math.min(matches.length - 1, at + step)))
    } else if (event.key === 'Enter' && matches[at] !== undefined) {
      onOpen(matches[at])
    } else if (event.key === 'Escape') {
      onClose()
    }
  }
  return (
    <div class="overlay" onClick={onClose}>
      <div
        class="quick-open"
        role="dialog"
        aria-label="Open a file"
        onClick={(event) => event.stopPropagation()}
        onKeyDown={onKeyDown}
      >
        <input
          ref={input}
          role="combobox"
          aria-expanded="true"
          aria-controls="quick-open-list"
          aria-label="File name"
          placeholder="File name"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value)
            setAt(0)
          }}
        />
        <ul id="quick-open-list" role="listbox" aria-label="Files">
          {matches.map((path, index) => (
            <li
              key={path}
              role="option"
              aria-selected={index === at}
              class={index === at ? 'is-selected' : ''}
              onClick={() => onOpen(path)}
            >
              {path}
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}
