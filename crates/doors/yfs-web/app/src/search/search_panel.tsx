// Search in the contents of all files, and replacement. A result opens the file at its line.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { CaseSensitive, Regex, Replace, WholeWord, type IconNode } from 'lucide'
import { plural, t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import { report } from '../shell/message'
import type { PanelProps } from '../shell/panels'
import { open } from '../shell/view_state'
import { FoundFileView } from './found_file'
import { ReplaceBar } from './replace_bar'
import { searchFiles, type SearchOptions, type SearchResult } from './search_request'
import './search_panel.css'

/** How long typing pauses before the server is asked. */
const PAUSE_MS = 200

const NOTHING: SearchOptions = {
  pattern: '',
  isExpression: false,
  matchesCase: false,
  wholeWords: false,
  path: '',
}

/** Identifies a line among the results. */
export const lineKey = (path: string, line: number): string => `${line} ${path}`

export function SearchPanel({ session, onClose }: PanelProps) {
  const [options, setOptions] = useState(NOTHING)
  const [result, setResult] = useState<SearchResult | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [replaces, setReplaces] = useState(false)
  /** The lines that are not to be replaced. */
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const [nTimes, setTimes] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const results = useRef<HTMLDivElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => input.current?.focus(), [])
  useEffect(() => {
    setLeft(new Set())
    if (options.pattern === '') {
      setProblem(null)
      return setResult(null)
    }
    let isOld = false
    const show = (found: SearchResult | null, reason: string | null) => {
      if (isOld) return
      if (found !== null) setResult(found)
      setProblem(reason)
    }
    const timer = setTimeout(() => {
      searchFiles(session, options).then(
        (found) => show(found, null),
        (failure: Error) => show(null, failure.message),
      )
    }, PAUSE_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [options, nTimes])

  const change = (changed: Partial<SearchOptions>) => setOptions({ ...options, ...changed })
  /** Arrows go through the lines that were found, from the field and back. */
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const lines = [...(results.current?.querySelectorAll<HTMLElement>('.search-line') ?? [])]
    const at = lines.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Enter' && document.activeElement === input.current) lines[0]?.click()
    if (step === undefined) return
    event.preventDefault()
    const next = at + step
    if (next < 0) input.current?.focus()
    else lines[Math.min(next, lines.length - 1)]?.focus()
  }
  const toggleLine = (key: string) => {
    const changed = new Set(left)
    if (!changed.delete(key)) changed.add(key)
    setLeft(changed)
  }
  return (
    <Dialog title={t('Search in all files')} onClose={onClose} isBare form="wide">
      <div class="search" onKeyDown={onKeyDown}>
        <div class="search-fields">
          <input
            ref={input}
            class="field"
            aria-label={t('Text to find in all files')}
            placeholder={t('Text to find in all files')}
            value={options.pattern}
            onInput={(event) => change({ pattern: event.currentTarget.value })}
          />
          <Switch
            label={t('Match case')}
            icon={CaseSensitive}
            isOn={options.matchesCase}
            onChange={(matchesCase) => change({ matchesCase })}
          />
          <Switch
            label={t('Whole words')}
            icon={WholeWord}
            isOn={options.wholeWords}
            onChange={(wholeWords) => change({ wholeWords })}
          />
          <Switch
            label={t('Regular expression')}
            icon={Regex}
            isOn={options.isExpression}
            onChange={(isExpression) => change({ isExpression })}
          />
          {!session.readOnly && (
            <Switch label={t('Replace')} icon={Replace} isOn={replaces} onChange={setReplaces} />
          )}
        </div>
        {replaces && (
          <ReplaceBar
            session={session}
            options={options}
            result={result}
            left={left}
            onDone={() => setTimes(nTimes + 1)}
          />
        )}
        <input
          class="field search-path"
          aria-label={t('Folder or file to search in')}
          placeholder={t('in all folders, or for example /notes')}
          value={options.path}
          onInput={(event) => change({ path: event.currentTarget.value.trim() })}
        />
        <p class="faint search-totals" role="status">
          {problem ?? (result !== null && totalsOf(result))}
        </p>
        <div
          class="search-results"
          role="region"
          aria-label={t('Results')}
          tabIndex={0}
          ref={results}
        >
          {result?.files.map((file) => (
            <FoundFileView
              key={file.id}
              file={file}
              left={replaces ? left : null}
              onToggle={toggleLine}
              onOpen={(line) => void report(Promise.resolve(open(session, file.path, line)))}
            />
          ))}
        </div>
      </div>
    </Dialog>
  )
}

function totalsOf({ files, totals }: SearchResult): string {
  const lines = plural(totals.matches, '1 line', '{n} lines')
  const counted = plural(files.length, '{lines} in 1 file', '{lines} in {n} files', { lines })
  return totals.cut === null ? counted : t('{counted}; there may be more', { counted })
}

interface SwitchProps {
  label: string
  icon: IconNode
  isOn: boolean
  onChange: (isOn: boolean) => void
}

function Switch({ label, icon, isOn, onChange }: SwitchProps) {
  return (
    <button
      type="button"
      class="plain"
      aria-label={label}
      title={label}
      aria-pressed={isOn}
      onClick={() => onChange(!isOn)}
    >
      <Icon of={icon} />
    </button>
  )
}
