// The timeline of a file's versions.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { X } from 'lucide'
import type { EditorWorkspace, OpenDocument } from '../documents'
import { plural, t } from '../language/translate'
import { Icon } from '../look/icon'
import { Ago, clockOf, dayOf } from '../trust/ago'
import { AuthorFilter, AuthorMark, AuthorName, groupOf, type AuthorGroup } from '../trust/author'
import { useFocus } from '../trust/focus'
import { ChangeCounter, type ChangeCounts } from './change_counts'
import { VersionDialog, type VersionPair } from './version_dialog'
import { labelText } from './version_label'
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
/** How many versions are listed at first, and at each click more. */
const PAGE = 40

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

export function Counts({ counts }: { counts: ChangeCounts }) {
  const { added, removed } = counts
  const said = [
    plural(added, '1 line added', '{n} lines added'),
    plural(removed, '1 line removed', '{n} lines removed'),
  ].join(', ')
  return (
    <span class="change-counts" title={said}>
      <span class="visually-hidden">{said}</span>
      <span aria-hidden="true">
        <span class="is-added">+{added}</span> <span class="is-removed">−{removed}</span>
      </span>
    </span>
  )
}

interface EntryProps {
  version: FileVersion
  before: FileVersion | null
  counter: ChangeCounter
  onChoose: () => void
}

function Entry({ version, before, counter, onChoose }: EntryProps) {
  const [counts, setCounts] = useState<ChangeCounts | null>(null)
  useEffect(() => {
    let isGone = false
    void counter.count(version, before).then((counted) => {
      if (!isGone) setCounts(counted)
    })
    return () => {
      isGone = true
    }
  }, [version, before?.at])
  const label = labelText(version.label)
  return (
    <li>
      <button type="button" class="history-entry" onClick={onChoose}>
        <AuthorMark actor={version.actor} />
        <span class="history-who">
          <span>
            <AuthorName actor={version.actor} />
          </span>
          {version.names.map((name) => (
            <span key={name} class="history-name">
              {name}
            </span>
          ))}
          <span class="history-what">
            {version.current && <span class="history-now">{t('now')}</span>}
            {counts !== null && <Counts counts={counts} />}
            {label !== null && <span class="history-label">{label}</span>}
            {version.redacted && <span class="history-label">{t('redacted')}</span>}
          </span>
        </span>
        <span class="history-when">
          <span>{clockOf(version.at)}</span>
          <Ago at={version.at} />
        </span>
      </button>
    </li>
  )
}

function Filters(props: {
  group: AuthorGroup | null
  onGroup: (group: AuthorGroup | null) => void
  onlyNamed: boolean
  onNamed: (onlyNamed: boolean) => void
}) {
  return (
    <div class="history-filters">
      <AuthorFilter shown={props.group} onShow={props.onGroup} />
      <label class="check">
        <input
          type="checkbox"
          checked={props.onlyNamed}
          onChange={(event) => props.onNamed(event.currentTarget.checked)}
        />
        {t('Named only')}
      </label>
    </div>
  )
}

function useDays(versions: FileVersion[], group: AuthorGroup | null, onlyNamed: boolean) {
  return useMemo(() => {
    const isShown = ({ actor, names }: FileVersion) =>
      (group === null || groupOf(actor) === group) && (!onlyNamed || names.length > 0)
    return versions.filter(isShown).reverse()
  }, [versions, group, onlyNamed])
}

function byDay(versions: FileVersion[]): [string, FileVersion[]][] {
  const days = new Map<string, FileVersion[]>()
  for (const version of versions) {
    const day = dayOf(version.at)
    days.set(day, [...(days.get(day) ?? []), version])
  }
  return [...days]
}

export function HistoryPanel(options: HistoryOptions) {
  const { versions, error } = useVersions(options)
  const counter = useMemo(() => new ChangeCounter(options.workspace, options.path), [])
  const [pair, setPair] = useState<VersionPair | null>(null)
  const [group, setGroup] = useState<AuthorGroup | null>(null)
  const [onlyNamed, setOnlyNamed] = useState(false)
  const [nShown, setShown] = useState(PAGE)
  const close = useRef<HTMLButtonElement>(null)
  const root = useRef<HTMLDivElement>(null)
  useFocus(root, close)
  const shown = useDays(versions ?? [], group, onlyNamed)
  return (
    <div
      ref={root}
      class="history-panel"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || pair !== null) return
        event.stopPropagation()
        options.onClose()
      }}
    >
      <header>
        <h2>{t('History')}</h2>
        <button
          ref={close}
          type="button"
          class="plain"
          aria-label={t('Close the history')}
          onClick={options.onClose}
        >
          <Icon of={X} />
        </button>
      </header>
      {error !== null && (
        <p class="history-error" role="alert">
          {t('The history cannot be read now: {reason}', { reason: error })}
        </p>
      )}
      <Filters group={group} onGroup={setGroup} onlyNamed={onlyNamed} onNamed={setOnlyNamed} />
      {versions === null && error === null && <p class="empty">{t('Loading…')}</p>}
      {versions !== null && shown.length === 0 && (
        <p class="empty">
          {versions.length === 0 ? t('No versions yet.') : t('No version is of this kind.')}
        </p>
      )}
      {byDay(shown.slice(0, nShown)).map(([day, entries]) => (
        <section key={day} aria-label={day}>
          <h3>{day}</h3>
          <ul>
            {entries.map((entry) => (
              <Entry
                key={`${entry.number} ${entry.at}`}
                version={entry}
                before={versions?.[versions.indexOf(entry) - 1] ?? null}
                counter={counter}
                onChoose={() => setPair({ from: entry.number - 1, to: entry.number })}
              />
            ))}
          </ul>
        </section>
      ))}
      {shown.length > nShown && (
        <button type="button" class="show-older" onClick={() => setShown(nShown + PAGE)}>
          {t('Show older')}
        </button>
      )}
      {pair !== null && versions !== null && (
        <VersionDialog
          {...options}
          versions={versions}
          counter={counter}
          pair={pair}
          onPair={setPair}
          onClose={() => setPair(null)}
        />
      )}
    </div>
  )
}
