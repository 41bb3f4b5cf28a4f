// What an address shows whose file is not here: it may be in the trash, have another name, or never
// have been.

import { useEffect, useState } from 'preact/hooks'
import { FileX2 } from 'lucide'
import { t } from '../language/translate'
import { Icon } from '../look/icon'
import { score } from '../look/ranking'
import type { Session, TrashEntry } from '../session/workspace'
import { nameOf } from '../tree/tree_model'
import type { FileAddress } from '../session/address'
import { report } from './message'
import { open, openHome, panel } from './view_state'

/** How many files of similar names are offered. */
const LIMIT = 5

interface MissingFileProps {
  session: Session
  address: FileAddress
}

export function MissingFile({ session, address }: MissingFileProps) {
  const name = nameOf(address.path)
  const [trashed, setTrashed] = useState<TrashEntry | null>(null)
  useEffect(() => {
    const isIt = (entry: TrashEntry) => entry.id === address.id || entry.original === address.path
    session.listTrash().then(
      (entries) => setTrashed(entries.find(isIt) ?? null),
      () => setTrashed(null),
    )
  }, [address])
  const stem = name.replace(/\.[^.]+$/, '')
  const similar = session.entries.value
    .filter(({ kind }) => kind === 'file')
    .flatMap(({ path }) => {
      const rank = stem === '' ? null : score(path, stem)
      return rank !== null && rank > 0 ? [{ path, rank }] : []
    })
    .sort((a, b) => b.rank - a.rank)
    .slice(0, LIMIT)
  return (
    <section class="welcome">
      <Icon of={FileX2} />
      <h1>{t('There is no file {name} here', { name })}</h1>
      <p class="faint">{address.path}</p>
      {trashed !== null && !session.readOnly && (
        <p>
          {t('It is in the trash.')}{' '}
          <button
            type="button"
            class="primary"
            onClick={() => void report(session.restore(trashed.id))}
          >
            {t('Restore')}
          </button>
        </p>
      )}
      {similar.length > 0 && (
        <>
          <p>{t('Files of similar names:')}</p>
          <ul class="plain-list">
            {similar.map(({ path }) => (
              <li key={path}>
                <button type="button" class="as-link" onClick={() => open(session, path)}>
                  {path}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="actions">
        <button type="button" onClick={() => (panel.value = 'quick-open')}>
          {t('Find a file')}
        </button>
        <button type="button" onClick={() => (panel.value = 'trash')}>
          {t('Open the trash')}
        </button>
        <button type="button" onClick={() => openHome(session)}>
          {t('Go to the start page')}
        </button>
      </p>
    </section>
  )
}
