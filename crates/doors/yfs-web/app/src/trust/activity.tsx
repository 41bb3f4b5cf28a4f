// What happens in the workspace, the latest first: what each person, agent and disk did to a file in
// one go is one entry.

import { useEffect, useRef, useState } from 'preact/hooks'
import { X } from 'lucide'
import { plural, t } from '../language/translate'
import { fullTime } from '../language/relative_time'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import type { Session } from '../session/workspace'
import { open, openId } from '../shell/view_state'
import { nameOf, parentOf } from '../tree/tree_model'
import { useActivityLog } from './activity_log'
import { Ago, dayOf } from './ago'
import {
  AuthorFilter,
  AuthorMark,
  AuthorName,
  groupOf,
  nameInText,
  type AuthorGroup,
} from './author'
import { ChangeDialog } from './change_dialog'
import { useFocus } from './focus'
import { groupEntries, type LogGroup } from './log_groups'
import { onSideTaken, takeSide } from './side'
import './activity.css'

type Scope = 'all' | 'directory' | 'file'

/** Below this width the panel lies above the document, which would have no room beside it. */
const NARROW = '(max-width: 1040px)'

export interface ActivityProps {
  session: Session
  onClose: () => void
}

function useNarrow(): boolean {
  const [is, set] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const update = () => set(query.matches)
    query.addEventListener('change', update)
    return () => query.removeEventListener('change', update)
  }, [])
  return is
}

/** Says what was done. */
function deedOf({ change, nChanges, from, path }: LogGroup): string {
  switch (change) {
    case 'created':
      return nChanges === 1
        ? t('created')
        : plural(nChanges, 'created, 1 change', 'created, {n} changes')
    case 'renamed':
      return t('renamed from {name}', { name: nameOf(from ?? path) })
    case 'moved':
      return t('moved from {path}', { path: from ?? path })
    case 'deleted':
      return t('moved to the trash')
    case 'restored':
      return t('restored from the trash')
    case 'mode':
      return t('permissions changed')
    default:
      return plural(nChanges, 'edited, 1 change', 'edited, {n} changes')
  }
}

function Entry(props: { group: LogGroup; onOpen: () => void; onCompare: (() => void) | null }) {
  const { group, onOpen, onCompare } = props
  const canOpen = group.kind === 'file' && group.change !== 'deleted'
  const directory = parentOf(group.path)
  return (
    <li>
      <AuthorMark actor={group.actor} />
      <div class="activity-entry">
        <div class="activity-line">
          <AuthorName actor={group.actor} /> <Ago at={group.at} />
        </div>
        <div class="activity-line">
          {canOpen ? (
            <button type="button" class="as-link" title={group.path} onClick={onOpen}>
              {nameOf(group.path)}
            </button>
          ) : (
            <span title={group.path}>{nameOf(group.path)}</span>
          )}
          {directory !== '/' && <span class="faint">{directory}</span>}
        </div>
        <div class="activity-line faint">
          {deedOf(group)}
          {onCompare !== null && (
            <button type="button" class="as-link" onClick={onCompare}>
              {t('Show changes')}
            </button>
          )}
        </div>
      </div>
    </li>
  )
}

function byDay(groups: LogGroup[]): [string, LogGroup[]][] {
  const days = new Map<string, LogGroup[]>()
  for (const group of groups) {
    const day = dayOf(group.at)
    days.set(day, [...(days.get(day) ?? []), group])
  }
  return [...days]
}

/** A button that is also pressed when it is scrolled to. */
function ShowOlder({ onShow }: { onShow: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver((seen) => {
      if (seen.some(({ isIntersecting }) => isIntersecting)) onShow()
    })
    observer.observe(button.current!)
    return () => observer.disconnect()
  })
  return (
    <button ref={button} type="button" class="activity-older" onClick={onShow}>
      {t('Show older')}
    </button>
  )
}

function useScope(session: Session): [Scope, (scope: Scope) => void, string | null] {
  const [scope, setScope] = useState<Scope>('all')
  const id = openId.value
  const path = id === null ? undefined : session.pathsById.value.get(id)
  if (path === undefined || scope === 'all')
    return [path === undefined ? 'all' : scope, setScope, null]
  return [scope, setScope, scope === 'file' ? path : parentOf(path)]
}

function ActivityList({ session, onClose }: ActivityProps) {
  const [scope, setScope, scopePath] = useScope(session)
  const [author, setAuthor] = useState<AuthorGroup | null>(null)
  const [compared, setCompared] = useState<LogGroup | null>(null)
  const { entries, hasMore, error, loadOlder } = useActivityLog(session, scopePath)
  const shown = (entries ?? []).filter(({ actor }) => author === null || groupOf(actor) === author)
  const groups = groupEntries(shown)
  const show = (path: string, line: number | null = null) => {
    if (matchMedia(NARROW).matches) onClose()
    open(session, path, line)
  }
  return (
    <>
      <div class="activity-filters">
        <AuthorFilter shown={author} onShow={setAuthor} />
        <select
          class="field"
          aria-label={t('Changes in')}
          value={scope}
          onChange={(event) => setScope(event.currentTarget.value as Scope)}
        >
          <option value="all">{t('Everywhere')}</option>
          <option value="directory" disabled={openId.value === null}>
            {t('This folder')}
          </option>
          <option value="file" disabled={openId.value === null}>
            {t('This file')}
          </option>
        </select>
      </div>
      {error !== null && <p role="alert">{error}</p>}
      {entries === null && error === null && <p class="empty">{t('Loading…')}</p>}
      {entries !== null && groups.length === 0 && !hasMore && (
        <p class="empty">
          {entries.length === 0 ? t('No file was changed yet.') : t('No change is of this kind.')}
        </p>
      )}
      {byDay(groups).map(([day, each]) => (
        <section key={day} aria-label={day}>
          <h3>{day}</h3>
          <ol>
            {each.map((group) => (
              <Entry
                key={group.key}
                group={group}
                onOpen={() => show(group.path)}
                onCompare={group.versions === null ? null : () => setCompared(group)}
              />
            ))}
          </ol>
        </section>
      ))}
      {hasMore && <ShowOlder onShow={() => void loadOlder()} />}
      {compared?.versions != null && (
        <ChangeDialog
          workspace={session}
          path={compared.path}
          from={compared.versions[0] - 1}
          to={compared.versions[1]}
          subtitle={`${nameInText(compared.actor)}, ${fullTime(compared.at)}`}
          onOpen={(line) => {
            setCompared(null)
            show(compared.path, line)
          }}
          onClose={() => setCompared(null)}
        />
      )}
    </>
  )
}

export function Activity(props: ActivityProps) {
  const { onClose } = props
  const isNarrow = useNarrow()
  useEffect(() => {
    takeSide('activity')
    return onSideTaken('activity', onClose)
  }, [])
  if (isNarrow) {
    return (
      <Dialog title={t('Activity')} form="side" onClose={onClose}>
        <div class="activity is-drawer">
          <ActivityList {...props} />
        </div>
      </Dialog>
    )
  }
  return <ActivityAside {...props} />
}

function ActivityAside(props: ActivityProps) {
  const { onClose } = props
  const aside = useRef<HTMLElement>(null)
  const close = useRef<HTMLButtonElement>(null)
  useFocus(aside, close)
  return (
    <aside
      ref={aside}
      class="activity"
      aria-label={t('Activity')}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <header>
        <h2>{t('Activity')}</h2>
        <button
          ref={close}
          type="button"
          class="plain"
          aria-label={t('Close the activity')}
          onClick={onClose}
        >
          <Icon of={X} />
        </button>
      </header>
      <ActivityList {...props} />
    </aside>
  )
}
