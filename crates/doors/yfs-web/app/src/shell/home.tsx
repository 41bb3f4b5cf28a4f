// The start page of a workspace: find a file, go on where one was, what others changed, and who is
// here.

import { useEffect, useState } from 'preact/hooks'
import { FilePlus, Search } from 'lucide'
import { actorInfo } from '../history/actors'
import { fullTime, relativeTime } from '../language/relative_time'
import { plural, t } from '../language/translate'
import { Icon } from '../look/icon'
import { Avatar } from '../people/avatar'
import { listPeople } from '../people/people'
import type { Session } from '../session/workspace'
import { createNode } from '../tree/file_tree'
import { nameOf, parentOf } from '../tree/tree_model'
import { recentIds } from './recent'
import { open, openById, panel, showsActivity, showsDrawer } from './view_state'
import './home.css'

/** How many recent files and changes are listed. */
const N_RECENT = 8
/** How many entries of the log are read: many are of one file. */
const N_LOG = 60

interface Change {
  at: number
  path: string
  id: string
  kind: string
  change: string
  actor: string | null
}

export function Home({ session }: { session: Session }) {
  const nFiles = session.entries.value.filter(({ kind }) => kind === 'file').length
  return (
    <div class="home">
      <div class="home-page">
        <h1>{plural(nFiles, '1 file', '{n} files')}</h1>
        <div class="actions">
          <button type="button" class="home-find" onClick={() => (panel.value = 'quick-open')}>
            <Icon of={Search} />
            <span>{t('Find a file')}</span>
            <kbd>{'Ctrl+P'}</kbd>
          </button>
          <button type="button" onClick={() => (panel.value = 'search')}>
            {t('Search in files')}
          </button>
          {!session.readOnly && (
            <button type="button" class="primary" onClick={() => newFile(session)}>
              <Icon of={FilePlus} />
              {t('New file')}
            </button>
          )}
        </div>
        {nFiles === 0 && <FirstSteps />}
        <Here session={session} />
        <div class="home-columns">
          <Recent session={session} />
          <Changes session={session} />
        </div>
      </div>
    </div>
  )
}

function newFile(session: Session): void {
  // The name is typed in the tree.
  showsDrawer.value = matchMedia('(max-width: 700px)').matches
  createNode(session, 'file')
}

function FirstSteps() {
  return (
    <p class="empty">
      {t(
        'This workspace is empty. Make a file here, drop files on the tree, or bring a directory:',
      )}{' '}
      <code>yfs import DIRECTORY</code>
    </p>
  )
}

function Here({ session }: { session: Session }) {
  const people = listPeople(session.peers.value)
  if (people.length === 0) return null
  return (
    <section>
      <h2>{t('Here now')}</h2>
      <ul class="plain-list home-people">
        {people.map((person) => (
          <li key={person.key}>
            <Avatar {...person} />
            {person.name} <OpenFileOf session={session} ids={person.open} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function OpenFileOf({ session, ids }: { session: Session; ids: string[] }) {
  const id = ids.find((id) => session.pathsById.value.has(id))
  const path = id === undefined ? undefined : session.pathsById.value.get(id)
  if (id === undefined || path === undefined) return null
  return (
    <button type="button" class="as-link" title={path} onClick={() => openById(session, id)}>
      {nameOf(path)}
    </button>
  )
}

function Recent({ session }: { session: Session }) {
  const ids = recentIds(session.id).filter((id) => session.pathsById.value.has(id))
  return (
    <section>
      <h2>{t('Opened last')}</h2>
      {ids.length === 0 && <p class="faint">{t('Files that you open are listed here.')}</p>}
      <ul class="plain-list">
        {ids.slice(0, N_RECENT).map((id) => {
          const path = session.pathOf(id)!
          return (
            <li key={id} class="home-row">
              <button type="button" class="as-link" onClick={() => openById(session, id)}>
                {nameOf(path)}
              </button>
              <span class="faint">{parentOf(path)}</span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** Returns the latest change of each file. */
function latestOfFiles(entries: Change[]): Change[] {
  const seen = new Set<string>()
  return entries.filter(({ id, kind, change }) => {
    if (kind !== 'file' || change === 'deleted' || seen.has(id)) return false
    seen.add(id)
    return true
  })
}

function Changes({ session }: { session: Session }) {
  const [changes, setChanges] = useState<Change[] | null>(null)
  const listing = session.entries.value
  useEffect(() => {
    let isOld = false
    session
      .call('GET', `/api/log?limit=${N_LOG}`)
      .then((response) => response.json())
      .then(({ entries }: { entries: Change[] }) => {
        if (!isOld) setChanges(latestOfFiles(entries).slice(0, N_RECENT))
      })
      .catch(() => {
        // The banner says that there is no connection.
      })
    return () => void (isOld = true)
  }, [listing])
  return (
    <section>
      <h2>{t('Changed last')}</h2>
      {changes?.length === 0 && <p class="faint">{t('No file was changed yet.')}</p>}
      <ul class="plain-list" aria-busy={changes === null}>
        {changes === null && [1, 2, 3].map((n) => <li key={n} class="home-row skeleton" />)}
        {changes?.map(({ id, path, actor, at }) => (
          <li key={id} class="home-row">
            <button type="button" class="as-link" title={path} onClick={() => open(session, path)}>
              {nameOf(path)}
            </button>
            <span class="faint" title={fullTime(at)}>
              {actorInfo(actor).name}, {relativeTime(at)}
            </span>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => (showsActivity.value = true)}>
        {t('All activity')}
      </button>
    </section>
  )
}
