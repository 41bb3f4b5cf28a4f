// What one version changed, or what changed since it; and back to it.

import { useEffect, useState } from 'preact/hooks'
import { actorInfo } from './actors'
import type { HistoryOptions } from './history_panel'
import { diffRows, type DiffRow } from './text_diff'
import { readVersion, restoreVersion, type FileVersion } from './versions_api'

interface DiffProps extends HistoryOptions {
  version: FileVersion
  /** The number of the current version. */
  newest: number
  onBack: () => void
}

type Comparison = 'change' | 'since'

const SIGNS: Record<DiffRow['kind'], string> = { same: ' ', added: '+', removed: '−', skipped: '' }

function Row({ row }: { row: DiffRow }) {
  if (row.kind === 'skipped') {
    return (
      <tr class="diff-skipped">
        <td colSpan={4}>⋯</td>
      </tr>
    )
  }
  return (
    <tr class={`diff-${row.kind}`}>
      <td class="diff-number">{row.oldLine}</td>
      <td class="diff-number">{row.newLine}</td>
      <td class="diff-sign">{SIGNS[row.kind]}</td>
      <td class="diff-text">
        {row.parts.map(({ text, isChanged }, n) =>
          isChanged ? <mark key={n}>{text}</mark> : <span key={n}>{text}</span>,
        )}
      </td>
    </tr>
  )
}

function useRows(props: DiffProps, comparison: Comparison): DiffRow[] | string | null {
  const { workspace, path, version, newest } = props
  const [rows, setRows] = useState<DiffRow[] | string | null>(null)
  useEffect(() => {
    let isGone = false
    const [from, to] =
      comparison === 'change' ? [version.number - 1, version.number] : [version.number, newest]
    const compare = async () => {
      try {
        const [before, after] = await Promise.all([
          from < 1 ? '' : readVersion(workspace, path(), from),
          readVersion(workspace, path(), to),
        ])
        const isText = before !== null && after !== null
        if (!isGone) setRows(isText ? diffRows(before, after) : 'The versions are not text.')
      } catch (failure) {
        if (!isGone) setRows(`The versions cannot be compared: ${(failure as Error).message}`)
      }
    }
    setRows(null)
    void compare()
    return () => {
      isGone = true
    }
  }, [workspace, version.number, newest, comparison])
  return rows
}

export function VersionDiff(props: DiffProps) {
  const { workspace, path, version, newest, onBack } = props
  const [comparison, setComparison] = useState<Comparison>('change')
  const [message, setMessage] = useState<string | null>(null)
  const rows = useRows(props, comparison)
  const { name, title } = actorInfo(version.actor)
  const restore = async () => {
    try {
      await restoreVersion(workspace, path(), version.number)
      setMessage(`Version ${version.number} is restored.`)
    } catch (failure) {
      setMessage(`Not restored: ${(failure as Error).message}`)
    }
  }
  return (
    <div class="history-diff">
      <p class="history-diff-head">
        <button type="button" onClick={onBack}>
          ← All versions
        </button>
        <span>
          Version {version.number} by <b>{name}</b> ({title}),{' '}
          {new Date(version.at).toLocaleString()}
        </span>
      </p>
      <p class="history-diff-actions">
        <button
          type="button"
          aria-pressed={comparison === 'change'}
          onClick={() => setComparison('change')}
        >
          This change
        </button>
        <button
          type="button"
          aria-pressed={comparison === 'since'}
          onClick={() => setComparison('since')}
        >
          Since then
        </button>
        {!workspace.readOnly && version.number < newest && !version.redacted && (
          <button type="button" class="history-restore" onClick={() => void restore()}>
            Restore
          </button>
        )}
      </p>
      {message !== null && <p role="status">{message}</p>}
      {rows === null && <p>Comparing…</p>}
      {typeof rows === 'string' && <p role="alert">{rows}</p>}
      {Array.isArray(rows) &&
        (rows.some(({ kind }) => kind === 'added' || kind === 'removed') ? (
          <div class="diff-scroll" tabIndex={0} role="region" aria-label="Difference">
            <table class="diff">
              <tbody>
                {rows.map((row, n) => (
                  <Row key={n} row={row} />
                ))}
              </tbody>
            </table>
          </div>
        ) : (
          <p>No difference.</p>
        ))}
    </div>
  )
}
