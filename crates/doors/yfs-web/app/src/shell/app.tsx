// The application: the sidebar, the document with its head, and what lies above both.

import { useLayoutEffect } from 'preact/hooks'
import { t } from '../language/translate'
import { FollowFrame } from '../people/follow'
import { observeSeen } from '../people/last_seen'
import type { Session } from '../session/workspace'
import { followConflicts } from '../trust/conflict_count'
import { ActivityPanel } from './activity_panel'
import { ConnectionBanner } from './connection_banner'
import { DocumentHead } from './document_head'
import { EditorPane } from './editor_pane'
import { Home } from './home'
import { lazily } from './lazily'
import { message } from './message'
import { OpenPanel } from './panels'
import { Sidebar } from './sidebar'
import {
  closePanel,
  followAddress,
  missing,
  openById,
  openFromAddress,
  openId,
  panel,
  showsActivity,
  showsDrawer,
  type Panel,
} from './view_state'

const MissingFile = lazily(async () => (await import('./missing_file')).MissingFile)

/** What an editor asks to open. */
interface OpenPathDetail {
  path: string
  heading?: string | null
  line?: number
}

/** The panel that a key opens. */
function panelOf(event: KeyboardEvent): Panel | null {
  if (event.key === 'F1') return 'commands'
  if (!event.ctrlKey && !event.metaKey) return null
  const key = event.key.toLowerCase()
  if (key === 'p') return event.shiftKey ? 'commands' : 'quick-open'
  if (key === '/') return 'shortcuts'
  return key === 'f' && event.shiftKey ? 'search' : null
}

function observeWindow(session: Session): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && closePanel()) return
    // An editor has used the key.
    if (event.defaultPrevented) return
    const opened = panelOf(event)
    if (opened === null) return
    event.preventDefault()
    panel.value = panel.peek() === opened ? null : opened
  }
  // A link in a file that leads to another one.
  const onOpenPath = (event: Event) => {
    const { path, heading, line } = (event as CustomEvent<OpenPathDetail>).detail
    const id = session.idsByPath.peek().get(path)
    if (id === undefined) return
    openById(session, id, line !== undefined ? { line } : heading ? { heading } : {})
  }
  const onAddress = () => openFromAddress(session)
  addEventListener('keydown', onKeyDown)
  addEventListener('popstate', onAddress)
  addEventListener('yfs-open-path', onOpenPath)
  return () => {
    removeEventListener('keydown', onKeyDown)
    removeEventListener('popstate', onAddress)
    removeEventListener('yfs-open-path', onOpenPath)
  }
}

export function App({ session }: { session: Session }) {
  // Before the first key: an effect runs after painting.
  useLayoutEffect(() => {
    openFromAddress(session)
    const stops = [
      followAddress(session),
      observeWindow(session),
      followConflicts(session),
      observeSeen(session),
    ]
    // What an earlier visit left in this browser is sent.
    void import('../documents').then(({ documentPool }) => documentPool(session).resume())
    return () => stops.forEach((stop) => stop())
  }, [])
  const id = openId.value
  const path = id === null ? null : (session.pathsById.value.get(id) ?? null)
  const classes = ['app']
  if (showsActivity.value) classes.push('has-activity')
  if (showsDrawer.value) classes.push('has-drawer')
  return (
    <div class={classes.join(' ')}>
      <Sidebar session={session} openPath={path} />
      <div class="drawer-shade" onClick={() => (showsDrawer.value = false)} />
      <main class="content">
        <ConnectionBanner session={session} />
        <Message />
        <DocumentHead session={session} id={id} path={path} />
        {id !== null ? (
          <EditorPane key={id} session={session} id={id} />
        ) : missing.value !== null ? (
          <MissingFile session={session} address={missing.value} />
        ) : (
          <Home session={session} />
        )}
      </main>
      {showsActivity.value && (
        <ActivityPanel session={session} onClose={() => (showsActivity.value = false)} />
      )}
      <OpenPanel session={session} />
      <FollowFrame />
    </div>
  )
}

function Message() {
  if (message.value === null) return null
  return (
    <p class="banner is-error" role="alert">
      {message.value}
      <button type="button" onClick={() => (message.value = null)}>
        {t('Dismiss')}
      </button>
    </p>
  )
}
