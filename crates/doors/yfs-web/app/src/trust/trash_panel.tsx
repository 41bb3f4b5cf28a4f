// The trash: who moved what there and when, what is in it, and the way back.

import { useEffect, useMemo, useState } from 'preact/hooks'
import { File, Folder, RotateCcw } from 'lucide'
import { plural, t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import type { FileRow } from '../documents'
import type { Session, TrashEntry } from '../session/workspace'
import type { PanelProps } from '../shell/panels'
import { nameOf, parentOf } from '../tree/tree_model'
import { Ago } from './ago'
import { AuthorName } from './author'
import { useFailures, type Failures } from './failure'
import { sizeText } from './size'
import { TrashPreview } from './trash_preview'
import './trash_panel.css'

const sizeOf = (row: FileRow | undefined): number | null =>
  row === undefined || row.type === 'folder' ? null : (row.blob?.size ?? row.size ?? null)

interface RowProps {
  session: Session
  entry: TrashEntry
  isShown: boolean
  isChosen: boolean
  onShow: () => void
  onChoose: (isChosen: boolean) => void
  onRestore: () => void
}

function TrashRow(props: RowProps) {
  const { session, entry, isShown, isChosen, onShow, onChoose, onRestore } = props
  const { original, kind, hidden, trashed_at: at, trashed_by: actor } = entry
  const size = sizeOf(session.rows.value.get(entry.id))
  const path = original
  return (
    <li class={isShown ? 'is-shown' : ''}>
      {!session.readOnly && (
        <input
          type="checkbox"
          aria-label={t('Choose {path}', { path })}
          checked={isChosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      )}
      <button type="button" class="trash-entry" aria-pressed={isShown} onClick={onShow}>
        <Icon of={kind === 'directory' ? Folder : File} />
        <span class="trash-what">
          <span class="trash-name" title={path}>
            {nameOf(path)}
          </span>
          <span class="faint">{parentOf(path)}</span>
          <span class="faint trash-when">
            <AuthorName actor={actor} /> <Ago at={at} />
            {size !== null && size > 0 && <span>{sizeText(size)}</span>}
            {kind === 'directory' && <span>{plural(hidden, '1 item', '{n} items')}</span>}
          </span>
        </span>
      </button>
      {!session.readOnly && (
        <button
          type="button"
          class="plain"
          title={t('Restore')}
          aria-label={t('Restore {path}', { path })}
          onClick={onRestore}
        >
          <Icon of={RotateCcw} />
        </button>
      )}
    </li>
  )
}

/** What is shown of one entry, with the way back to where it was or elsewhere. */
function Details({
  session,
  entry,
  onRestore,
}: {
  session: Session
  entry: TrashEntry
  onRestore: (to: string) => void
}) {
  const [to, setTo] = useState(entry.original)
  return (
    <section class="trash-details" aria-label={t('Preview')}>
      <h3>{nameOf(entry.original)}</h3>
      <TrashPreview session={session} entry={entry} />
      {!session.readOnly && (
        <form
          class="trash-restore"
          onSubmit={(event) => {
            event.preventDefault()
            onRestore(to.trim())
          }}
        >
          <label>
            <span>{t('Restore to')}</span>
            <input class="field" value={to} onInput={(event) => setTo(event.currentTarget.value)} />
          </label>
          <button type="submit" class="primary" disabled={!to.trim().startsWith('/')}>
            {t('Restore')}
          </button>
        </form>
      )}
    </section>
  )
}

function useTrash(
  session: Session,
  attempt: Failures['attempt'],
): [TrashEntry[] | null, () => Promise<void>] {
  const [entries, setEntries] = useState<TrashEntry[] | null>(null)
  const load = () => session.listTrash().then(setEntries)
  const listing = session.entries.value
  useEffect(() => void attempt(load()), [listing])
  return [entries, load]
}

export function TrashPanel({ session, onClose }: PanelProps) {
  const { alert, attempt } = useFailures()
  const [entries, load] = useTrash(session, attempt)
  const [words, setWords] = useState('')
  const [shownId, setShown] = useState<string | null>(null)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const found = useMemo(() => {
    const wanted = words.trim().toLowerCase()
    return (entries ?? []).filter(({ original }) => original.toLowerCase().includes(wanted))
  }, [entries, words])
  const shown = entries?.find(({ id }) => id === shownId) ?? null
  const restore = async (ids: string[], to?: string) => {
    const restoreAll = async () => {
      for (const id of ids) await session.restore(id, to)
      setChosen(new Set())
      await load()
    }
    await attempt(restoreAll())
  }
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    setChosen(next)
  }
  const chosenHere = found.filter(({ id }) => chosen.has(id)).map(({ id }) => id)
  return (
    <Dialog title={t('Trash')} form="wide" onClose={onClose}>
      <div class="trash-bar">
        <input
          class="field"
          type="search"
          aria-label={t('Search in the trash')}
          placeholder={t('Search in the trash')}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        {chosenHere.length > 0 && (
          <button type="button" class="primary" onClick={() => void restore(chosenHere)}>
            {plural(chosenHere.length, 'Restore 1 item', 'Restore {n} items')}
          </button>
        )}
      </div>
      {alert}
      {entries === null && <p class="empty">{t('Loading…')}</p>}
      {entries?.length === 0 && (
        <p class="empty">
          {t('The trash is empty. What is removed is kept here, and can be restored.')}
        </p>
      )}
      {entries !== null && entries.length > 0 && found.length === 0 && (
        <p class="empty">{t('Nothing in the trash has these letters in its path.')}</p>
      )}
      <div class={shown === null ? 'trash-columns' : 'trash-columns has-details'}>
        <ul class="trash-list">
          {found.map((entry) => (
            <TrashRow
              key={entry.id}
              session={session}
              entry={entry}
              isShown={entry.id === shownId}
              isChosen={chosen.has(entry.id)}
              onShow={() => setShown(entry.id === shownId ? null : entry.id)}
              onChoose={(isChosen) => choose(entry.id, isChosen)}
              onRestore={() => void restore([entry.id])}
            />
          ))}
        </ul>
        {shown !== null && (
          <Details
            key={shown.id}
            session={session}
            entry={shown}
            onRestore={(to) => void restore([shown.id], to === shown.original ? undefined : to)}
          />
        )}
      </div>
    </Dialog>
  )
}
