// The timeline of a file's versions.

import { useEffect, useMemo, useState } from 'preact/hooks'
import type { EditorWorkspace, OpenDocument } from '../documents'
import { labelText } from './version_label'
import { actorInfo } from './actors'
import { VersionDiff } from './version_diff'
import { listVersions, type FileVersion } from './versions_api'

export interface HistoryOptions {
  workspace: EditorWorkspace
  id: string
  container: HTMLElement
  document: OpenDocument
  path: () => string
  onClose: () => void
}

/** How long changes are collected before the list is read again. */
const REFRESH_MS = 500

interface Listing {
  versions: FileVersion[] | null
  error: string | null
}

function useVersions({ workspace, document: opened, path }: HistoryOptions): Listing {
  const [listing, setListing] = useState<Listing>({ versions: null, error: null })
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = async () => {
      try {
        const versions = await listVersions(workspace, path())
        if (!isGone) setListing({ versions, error: null })
      } catch (failure) {
        const error = (failure as Error).message
        if (!isGone) setListing((known) => ({ ...known, error }))
      }
    }
    const schedule = () => {
      clearTimeout(timer)
      timer = setTimeout(() => void refresh(), REFRESH_MS)
    }
    const stop = opened.savedState.subscribe(schedule)
    opened.doc.on('update', schedule)
    void refresh()
    return () => {
      isGone = true
      clearTimeout(timer)
      stop()
      opened.doc.off('update', schedule)
    }
  }, [workspace, opened])
  return listing
}

const dayOf = (at: number): string =>
  new Date(at).toLocaleDateString(undefined, { weekday: 'short', day: 'numeric', month: 'short' })
const timeOf = (at: number): string =>
  new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })

interface EntryProps {
  version: FileVersion
  isChosen: boolean
  onChoose: () => void
}

function Entry({ version, isChosen, onChoose }: EntryProps) {
  const { kind, name, title, color } = actorInfo(version.actor)
  return (
    <li>
      <button type="button" class="history-entry" aria-pressed={isChosen} onClick={onChoose}>
        <span class="history-mark" data-kind={kind} style={{ '--person': color }} title={title}>
          <span aria-hidden="true">
            {kind === 'agent' ? '✦' : ([...name][0]?.toUpperCase() ?? '?')}
          </span>
          <span class="visually-hidden">{title}</span>
        </span>
        <span class="history-who">
          <b>{name}</b>
          {kind === 'agent' && <span class="history-kind">agent</span>}
          {kind === 'mirror' && <span class="history-kind">disk</span>}
          {kind === 'system' && <span class="history-kind">system</span>}
          {version.label !== null && (
            <span class="history-label" title={version.label}>
              {labelText(version.label)}
            </span>
          )}
          {version.names.map((name) => (
            <span key={name} class="history-name">
              {name}
            </span>
          ))}
        </span>
        <span class="history-when">
          <time dateTime={new Date(version.at).toISOString()}>{timeOf(version.at)}</time>
          <span class="history-number">
            {version.current ? 'now' : `v${version.number}`}
            {version.redacted && ' · redacted'}
          </span>
        </span>
      </button>
    </li>
  )
}

export function HistoryPanel(options: HistoryOptions) {
  const { versions, error } = useVersions(options)
  const [chosen, setChosen] = useState<number | null>(null)
  const [onlyAgents, setOnlyAgents] = useState(false)
  const hasAgents = versions?.some(({ actor }) => actorInfo(actor).kind === 'agent') ?? false
  const days = useMemo(() => {
    const shown = (versions ?? []).filter(
      ({ actor }) => !onlyAgents || actorInfo(actor).kind === 'agent',
    )
    const byDay = new Map<string, FileVersion[]>()
    for (const version of [...shown].reverse()) {
      const day = dayOf(version.at)
      byDay.set(day, [...(byDay.get(day) ?? []), version])
    }
    return [...byDay]
  }, [versions, onlyAgents])
  const version = versions?.find(({ number }) => number === chosen) ?? null
  return (
    <>
      <header>
        <h2>History</h2>
        {hasAgents && (
          <button
            type="button"
            aria-pressed={onlyAgents}
            onClick={() => setOnlyAgents(!onlyAgents)}
          >
            Agents only
          </button>
        )}
        <button type="button" aria-label="Close the history" onClick={options.onClose}>
          ×
        </button>
      </header>
      {error !== null && (
        <p class="history-error" role="alert">
          The history cannot be read now: {error}
        </p>
      )}
      {version !== null && versions !== null ? (
        <VersionDiff
          {...options}
          version={version}
          newest={versions.length}
          onBack={() => setChosen(null)}
        />
      ) : (
        <div class="history-list">
          {versions?.length === 0 && <p class="history-empty">No versions yet.</p>}
          {days.map(([day, entries]) => (
            <section key={day} aria-label={day}>
              <h3>{day}</h3>
              <ul>
                {entries.map((entry) => (
                  <Entry
                    key={entry.number}
                    version={entry}
                    isChosen={entry.number === chosen}
                    onChoose={() => setChosen(entry.number)}
                  />
                ))}
              </ul>
            </section>
          ))}
        </div>
      )}
    </>
  )
}
