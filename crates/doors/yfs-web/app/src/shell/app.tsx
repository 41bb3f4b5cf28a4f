// The application: the tree, the editor, and what lies above both.

import { effect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { People } from '../people/avatars'
import { FollowFrame } from '../people/follow'
import { observeSeen } from '../people/last_seen'
import type { Session } from '../session/workspace'
import { createNode, FileTree } from '../tree/file_tree'
import { ActivityPanel } from './activity_panel'
import { ConnectionBanner } from './connection_banner'
import { EditorPane } from './editor_pane'
import { message } from './message'
import { OpenPanel } from './panels'
import { SharedNamePanel } from './shared_name_panel'
import { toggleTheme } from './theme'
import {
  closePanel,
  open,
  openId,
  openLine,
  panel,
  sharedNameOf,
  showsActivity,
  type Panel,
} from './view_state'

/** The panel that a key opens. */
function panelOf(event: KeyboardEvent): Panel | null {
  if (event.key === 'F1') return 'commands'
  if (!event.ctrlKey && !event.metaKey) return null
  const key = event.key.toLowerCase()
  if (key === 'p') return event.shiftKey ? 'commands' : 'quick-open'
  return key === 'f' && event.shiftKey ? 'search' : null
}

/** Opens the file that the address names, once it is listed. */
function openFromAddress(session: Session): void {
  const path = decodeURI(location.hash.slice(1))
  if (!path.startsWith('/')) return
  const stop = effect(() => {
    if (!session.idsByPath.value.has(path)) return
    queueMicrotask(() => {
      stop()
      open(session, path)
    })
  })
}

export function App({ session }: { session: Session }) {
  useEffect(() => {
    openFromAddress(session)
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && closePanel()) return
      const opened = panelOf(event)
      if (opened === null) return
      event.preventDefault()
      panel.value = panel.peek() === opened ? null : opened
    }
    // A link in a file that leads to another one.
    const onOpenPath = (event: Event) => {
      const { path } = (event as CustomEvent<{ path: string }>).detail
      open(session, path)
    }
    // Back, forward, and an address that a person typed.
    const onAddress = () => openFromAddress(session)
    addEventListener('keydown', onKeyDown)
    addEventListener('popstate', onAddress)
    addEventListener('yfs-open-path', onOpenPath)
    const stopSeen = observeSeen(session)
    // What an earlier visit left in this browser is sent.
    void import('../documents').then(({ documentPool }) => documentPool(session).resume())
    return () => {
      stopSeen()
      removeEventListener('keydown', onKeyDown)
      removeEventListener('popstate', onAddress)
      removeEventListener('yfs-open-path', onOpenPath)
    }
  }, [])
  const id = openId.value
  const path = id === null ? null : (session.pathsById.value.get(id) ?? null)
  return (
    <div class={showsActivity.value ? 'app has-activity' : 'app'}>
      <Sidebar session={session} openPath={path} />
      <main class="content">
        <ConnectionBanner session={session} />
        {message.value !== null && (
          <p class="banner is-error" role="alert">
            {message.value}
            <button type="button" onClick={() => (message.value = null)}>
              Dismiss
            </button>
          </p>
        )}
        {id === null ? (
          <Welcome session={session} />
        ) : (
          <EditorPane session={session} id={id} line={openLine.value} />
        )}
      </main>
      {showsActivity.value && (
        <ActivityPanel
          session={session}
          onOpen={(path) => open(session, path)}
          onClose={() => (showsActivity.value = false)}
        />
      )}
      <OpenPanel session={session} />
      <FollowFrame />
      {sharedNameOf.value !== null && (
        <SharedNamePanel
          session={session}
          id={sharedNameOf.value}
          onOpen={(path) => {
            sharedNameOf.value = null
            open(session, path)
          }}
          onClose={() => (sharedNameOf.value = null)}
        />
      )}
    </div>
  )
}

function Sidebar({ session, openPath }: { session: Session; openPath: string | null }) {
  return (
    <nav class="sidebar" aria-label="Workspace">
      <header class="sidebar-head">
        <strong>yfs</strong>
        <People session={session} />
        <button
          type="button"
          class="plain"
          onClick={() => (panel.value = 'commands')}
          title="Commands (F1)"
        >
          ⌘<span class="visually-hidden">Commands</span>
        </button>
        <button type="button" class="plain" onClick={toggleTheme} title="Light or dark">
          ◐<span class="visually-hidden">Light or dark</span>
        </button>
      </header>
      <div class="toolbar" role="toolbar" aria-label="Files">
        {!session.readOnly && (
          <>
            <button type="button" onClick={() => createNode(session, 'file')}>
              New file
            </button>
            <button type="button" onClick={() => createNode(session, 'directory')}>
              New folder
            </button>
          </>
        )}
        <button type="button" onClick={() => (panel.value = 'search')}>
          Search
        </button>
        <button type="button" onClick={() => (panel.value = 'trash')}>
          Trash
        </button>
        <button
          type="button"
          aria-pressed={showsActivity.value}
          onClick={() => (showsActivity.value = !showsActivity.value)}
        >
          Activity
        </button>
      </div>
      <FileTree
        session={session}
        openPath={openPath}
        onOpen={(path) => open(session, path)}
        onSharedName={(id) => (sharedNameOf.value = id)}
      />
    </nav>
  )
}

function Welcome({ session }: { session: Session }) {
  const count = session.entries.value.filter(({ kind }) => kind === 'file').length
  return (
    <div class="welcome">
      <h1>{count === 1 ? '1 file' : `${count.toLocaleString()} files`}</h1>
      <p class="faint">
        Choose a file, or press <kbd>Ctrl</kbd> <kbd>P</kbd> to find one.
      </p>
    </div>
  )
}
