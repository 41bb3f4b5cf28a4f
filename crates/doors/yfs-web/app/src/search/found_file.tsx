// The lines of one file that a search found.

import { useState } from 'preact/hooks'
import { ChevronDown, ChevronRight } from 'lucide'
import { t } from '../language/translate'
import { Icon } from '../look/icon'
import type { FoundFile, FoundLine } from './search_request'
import { lineKey } from './search_panel'

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

export interface FoundFileProps {
  file: FoundFile
  /** The lines that are not replaced; null while nothing is to be replaced. */
  left: ReadonlySet<string> | null
  onToggle: (key: string) => void
  onOpen: (line: number) => void
}

export function FoundFileView({ file, left, onToggle, onOpen }: FoundFileProps) {
  const [isOpen, setOpen] = useState(true)
  return (
    <section class="found-file">
      <h3>
        <button
          type="button"
          class="plain found-path"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon of={isOpen ? ChevronDown : ChevronRight} isPointing={!isOpen} />
          {file.path} <span class="faint">{file.lines.length}</span>
        </button>
      </h3>
      {isOpen &&
        file.lines.map((line) => {
          const key = lineKey(file.path, line.line)
          return (
            <div key={key} class="found-line">
              {left !== null && (
                <input
                  type="checkbox"
                  aria-label={t('Replace in line {line}', { line: line.line })}
                  checked={!left.has(key)}
                  onChange={() => onToggle(key)}
                />
              )}
              <button type="button" class="search-line" onClick={() => onOpen(line.line)}>
                <span class="faint">{line.line}</span> <Line {...line} />
              </button>
            </div>
          )
        })}
    </section>
  )
}
