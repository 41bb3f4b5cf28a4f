// Quick open: files by the letters of their paths, and commands after `>`, as in VS Code.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { listCommands } from './commands'
import type { PanelProps } from './panels'
import { recentIds } from './recent'
import { open } from './view_state'

/** How many matches are listed. */
const LIMIT = 50

/** What begins a query for a command. */
const COMMAND_MARK = '>'

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

export interface QuickOpenProps extends PanelProps {
  /** Whether commands are asked for first. */
  forCommands: boolean
}

interface Choice {
  label: string
  keys?: string | undefined
  run: () => void
}

function best<T>(items: T[], labelOf: (item: T) => string, query: string): T[] {
  const scored = items.flatMap((item) => {
    const rank = score(labelOf(item), query)
    return rank === null ? [] : [{ item, rank }]
  })
  scored.sort((a, b) => b.rank - a.rank || (labelOf(a.item) < labelOf(b.item) ? -1 : 1))
  return scored.slice(0, LIMIT).map(({ item }) => item)
}

function choicesFor(query: string, { session, onClose }: QuickOpenProps): Choice[] {
  if (query.startsWith(COMMAND_MARK)) {
    const commands = listCommands(session)
    const letters = query.slice(COMMAND_MARK.length).trim()
    const found = letters === '' ? commands : best(commands, ({ name }) => name, letters)
    return found.map(({ name, keys, run }) => {
      // The dialog closes first: the command may open another.
      const close = () => {
        onClose()
        run()
      }
      return { label: name, keys, run: close }
    })
  }
  const files = session.entries.peek().filter(({ kind }) => kind !== 'directory')
  if (query === '') {
    const recent = recentIds(session.id).flatMap((id) => session.pathOf(id) ?? [])
    const others = files.map(({ path }) => path).filter((path) => !recent.includes(path))
    const paths = [...recent, ...others.slice(0, LIMIT)].slice(0, LIMIT)
    return paths.map((path) => ({ label: path, run: () => open(session, path) }))
  }
  const found = best(files, ({ path }) => path, query)
  return found.map(({ path }) => ({ label: path, run: () => open(session, path) }))
}

export function QuickOpen(props: QuickOpenProps) {
  const [query, setQuery] = useState(props.forCommands ? COMMAND_MARK : '')
  const [at, setAt] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => {
    const element = input.current!
    element.focus()
    element.setSelectionRange(element.value.length, element.value.length)
  }, [])
  const choices = useMemo(() => choicesFor(query, props), [query])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt(Math.max(0, Math.min(choices.length - 1, at + step)))
    } else if (event.key === 'Enter' && choices[at] !== undefined) {
      event.preventDefault()
      choices[at].run()
    }
  }
  const isCommand = query.startsWith(COMMAND_MARK)
  return (
    <Dialog title={isCommand ? t('Commands') : t('Open a file')} onClose={props.onClose} isBare>
      <div class="quick-open" onKeyDown={onKeyDown}>
        <input
          ref={input}
          role="combobox"
          aria-expanded="true"
          aria-controls="quick-open-list"
          aria-activedescendant={choices.length === 0 ? undefined : `quick-open-${at}`}
          aria-label={isCommand ? t('Command') : t('File name')}
          placeholder={t('File name, or > and a command')}
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value)
            setAt(0)
          }}
        />
        <ul id="quick-open-list" role="listbox" aria-label={isCommand ? t('Commands') : t('Files')}>
          {choices.map(({ label, keys, run }, index) => (
            <li
              key={label}
              id={`quick-open-${index}`}
              role="option"
              aria-selected={index === at}
              class={index === at ? 'is-selected' : ''}
              onClick={run}
            >
              <span class="choice-label">{label}</span>
              {keys !== undefined && <kbd>{keys}</kbd>}
            </li>
          ))}
        </ul>
        {choices.length === 0 && <p class="faint no-choice">{t('Nothing matches.')}</p>}
      </div>
    </Dialog>
  )
}
