// Search in the contents of all files; a result opens the file at its line.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { report } from './message'
import type { PanelProps } from './panels'
import { open } from './view_state'

interface FoundLine {
  line: number
  text: string
  /** Ranges in bytes of the text. */
  matches: [number, number][]
}

interface SearchResult {
  files: { path: string; id: string; lines: FoundLine[]; cut: boolean }[]
  totals: { matches: number; cut: string | null }
}

/** How long typing pauses before the server is asked. */
const PAUSE_MS = 200

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function Line({ text, matches }: FoundLine) {
  const bytes = encoder.encode(text)
  const parts = []
  let at = 0
  for (const [start, end] of matches) {
    parts.push(decoder.decode(bytes.slice(at, start)))
    parts.push(<mark>{decoder.decode(bytes.slice(start, end))}</mark>)
    at = end
  }
  parts.push(decoder.decode(bytes.slice(at)))
  return <span class="search-text">{parts}</span>
}

export function SearchPanel({ session, onClose }: PanelProps) {
  const [pattern, setPattern] = useState('')
  const [result, setResult] = useState<SearchResult | null>(null)
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => input.current?.focus(), [])
  useEffect(() => {
    if (pattern === '') return setResult(null)
    let isOld = false
    const timer = setTimeout(() => {
      const query = new URLSearchParams({ pattern, ignore_case: 'true' })
      const asked = session.call('GET', `/api/search?${query}`)
      void report(
        asked
          .then((response) => response.json())
          .then((found: SearchResult) => {
            if (!isOld) setResult(found)
          }),
      )
    }, PAUSE_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [pattern])
  return (
    <div class="overlay" onClick={onClose}>
      <section
        class="quick-open"
        role="dialog"
        aria-label="Search in all files"
        onClick={(event) => event.stopPropagation()}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
      >
        <input
          ref={input}
          aria-label="Text to find in all files"
          placeholder="Text to find in all files"
          value={pattern}
          onInput={(event) => setPattern(event.currentTarget.value)}
        />
        <div class="search-results" role="region" aria-label="Results" tabIndex={0}>
          {result !== null && (
            <p class="faint" role="status">
              {result.totals.matches} lines in {result.files.length} files
              {result.totals.cut !== null && '; there may be more'}
            </p>
          )}
          {result?.files.map((file) => (
            <div key={file.id}>
              <h3>{file.path}</h3>
              {file.lines.map((line) => (
                <button
                  key={line.line}
                  type="button"
                  class="search-line"
                  onClick={() => open(session, file.path, line.line)}
                >
                  <span class="faint">{line.line}</span> <Line {...line} />
                </button>
              ))}
            </div>
          ))}
        </div>
      </section>
    </div>
  )
}
