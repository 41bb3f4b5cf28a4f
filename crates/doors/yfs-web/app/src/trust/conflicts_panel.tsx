// What a person should decide: equal names, words that several writers put into one place, and
// removals beside changes.

import { useEffect, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import type { Session } from '../session/workspace'
import type { PanelProps } from '../shell/panels'
import { open } from '../shell/view_state'
import { conflicts, readConflicts, type Conflict } from './conflict_count'
import { useFailures } from './failure'
import { NameConflicts } from './name_conflicts'
import { conflictUrl, WordConflicts } from './word_conflicts'
import './conflicts_panel.css'

/** The kinds that have a part of their own. */
const NAMES = 'name'
const WORDS = 'words'
const REMOVALS = ['removed', 'stranded']

function Removal({ session, conflict }: { session: Session; conflict: Conflict }) {
  const { path, detail } = conflict
  const { alert, attempt } = useFailures()
  const decide = async (removal: 'restore' | 'delete') => {
    await attempt(session.call('POST', conflictUrl(path), { removal }))
    await session.refresh()
    await readConflicts(session)
  }
  return (
    <article class="conflict" aria-label={path}>
      <h4>{path}</h4>
      <p class="faint">{detail}</p>
      {alert}
      {!session.readOnly && (
        <div class="conflict-actions">
          <button type="button" onClick={() => void decide('restore')}>
            {t('Restore it with the change')}
          </button>
          <button type="button" onClick={() => void decide('delete')}>
            {t('Leave it in the trash')}
          </button>
        </div>
      )}
    </article>
  )
}

function Other({ conflict, onOpen }: { conflict: Conflict; onOpen: (path: string) => void }) {
  return (
    <article class="conflict" aria-label={conflict.path}>
      <h4>
        <button type="button" class="as-link" onClick={() => onOpen(conflict.path)}>
          {conflict.path}
        </button>
      </h4>
      <p class="faint">{conflict.detail}</p>
    </article>
  )
}

export function ConflictsPanel({ session, onClose }: PanelProps) {
  const [isRead, setRead] = useState(false)
  const { alert, attempt } = useFailures()
  const listing = session.entries.value
  useEffect(() => void attempt(readConflicts(session)).then(setRead), [listing])
  const all = conflicts.value ?? []
  const of = (test: (kind: string) => boolean) => all.filter(({ kind }) => test(kind))
  const show = (path: string, line: number | null = null) => {
    onClose()
    open(session, path, line)
  }
  const words = of((kind) => kind === WORDS)
  const removals = of((kind) => REMOVALS.includes(kind))
  const others = of((kind) => kind !== NAMES && kind !== WORDS && !REMOVALS.includes(kind))
  return (
    <Dialog title={t('Conflicts')} form="wide" onClose={onClose}>
      <div class="conflicts">
        {alert}
        {!isRead && all.length === 0 && <p class="empty">{t('Looking for conflicts…')}</p>}
        <NameConflicts session={session} onOpen={show} />
        {words.length > 0 && (
          <section aria-label={t('Words')}>
            <h3>{t('Words')}</h3>
            <p class="faint">
              {t('Several writers changed the same words without knowing of each other.')}
            </p>
            {words.map((conflict) => (
              <WordConflicts
                key={conflict.id}
                session={session}
                path={conflict.path}
                onOpen={(line) => show(conflict.path, line)}
              />
            ))}
          </section>
        )}
        {removals.length > 0 && (
          <section aria-label={t('Removals')}>
            <h3>{t('Removals')}</h3>
            {removals.map((conflict) => (
              <Removal
                key={`${conflict.id} ${conflict.kind}`}
                session={session}
                conflict={conflict}
              />
            ))}
          </section>
        )}
        {others.length > 0 && (
          <section aria-label={t('Others')}>
            <h3>{t('Others')}</h3>
            {others.map((conflict) => (
              <Other
                key={`${conflict.id} ${conflict.kind}`}
                conflict={conflict}
                onOpen={(path) => show(path)}
              />
            ))}
          </section>
        )}
        {isRead && all.length === 0 && (
          <p class="empty">
            {t('No conflicts. Changes of the same words, and equal names, are listed here.')}
          </p>
        )}
      </div>
    </Dialog>
  )
}
