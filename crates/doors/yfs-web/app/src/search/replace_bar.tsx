// Replaces what was found in all chosen lines, with one way back.

import { useState } from 'preact/hooks'
import { plural, t } from '../language/translate'
import type { Session } from '../session/workspace'
import { replaceInFiles, undoReplace, type FileChange } from './replace_in_files'
import { lineKey } from './search_panel'
import { expressionOf, type SearchOptions, type SearchResult } from './search_request'

export interface ReplaceBarProps {
  session: Session
  options: SearchOptions
  result: SearchResult | null
  /** The lines that are not replaced. */
  left: ReadonlySet<string>
  /** The files changed: what was found is searched again. */
  onDone: () => void
}

/** Returns the chosen lines of each file. */
function chosenOf(result: SearchResult, left: ReadonlySet<string>): Map<string, Set<number>> {
  const chosen = new Map<string, Set<number>>()
  for (const { path, lines } of result.files) {
    const numbers = lines.map(({ line }) => line).filter((line) => !left.has(lineKey(path, line)))
    if (numbers.length > 0) chosen.set(path, new Set(numbers))
  }
  return chosen
}

export function ReplaceBar({ session, options, result, left, onDone }: ReplaceBarProps) {
  const [replacement, setReplacement] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [said, setSaid] = useState<string | null>(null)
  const [done, setDone] = useState<FileChange[]>([])
  const chosen = result === null ? new Map<string, Set<number>>() : chosenOf(result, left)
  const nLines = [...chosen.values()].reduce((sum, lines) => sum + lines.size, 0)
  const run = async (act: () => Promise<string>) => {
    setBusy(true)
    try {
      setSaid(await act())
    } catch (failure) {
      setSaid((failure as Error).message)
    }
    setBusy(false)
    onDone()
  }
  const replace = () =>
    run(async () => {
      const expression = expressionOf(options)
      const { isExpression } = options
      const request = { expression, replacement, isExpression, lines: chosen }
      const outcome = await replaceInFiles(session, request)
      setDone(outcome.changes)
      const count = plural(outcome.nReplaced, '1 replacement', '{n} replacements')
      const where = plural(outcome.changes.length, '{count} in 1 file', '{count} in {n} files', {
        count,
      })
      return [where, ...outcome.failures].join('; ')
    })
  const undo = () =>
    run(async () => {
      const failures = await undoReplace(session, done)
      setDone([])
      return [t('Taken back'), ...failures].join('; ')
    })
  return (
    <form
      class="search-fields"
      onSubmit={(event) => {
        event.preventDefault()
        void replace()
      }}
    >
      <input
        class="field"
        aria-label={t('Replace by')}
        placeholder={t('Replace by')}
        value={replacement}
        onInput={(event) => setReplacement(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={isBusy || nLines === 0}>
        {plural(nLines, 'Replace in 1 line', 'Replace in {n} lines')}
      </button>
      {done.length > 0 && (
        <button type="button" disabled={isBusy} onClick={() => void undo()}>
          {t('Undo')}
        </button>
      )}
      {said !== null && (
        <span class="faint" role="status">
          {said}
        </span>
      )}
    </form>
  )
}
