// The head of the page: where the open document is, with its name to be edited, who is in it, how
// it is shown, and what can be done with it.

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ChevronRight, Ellipsis, PanelLeft } from 'lucide'
import { t } from '../language/translate'
import { Icon } from '../look/icon'
import { openMenuBelow } from '../look/menu'
import type { Session } from '../session/workspace'
import { revealInTree } from '../tree/file_tree'
import { join, nameOf, parentOf } from '../tree/tree_model'
import { documentMenu } from './document_menu'
import { report } from './message'
import { editorHead, isRenamingOpen, openHome, panel, showsDrawer } from './view_state'
import './document_head.css'

export interface DocumentHeadProps {
  session: Session
  /** The open file; null if there is none. */
  id: string | null
  path: string | null
}

export function DocumentHead({ session, id, path }: DocumentHeadProps) {
  return (
    <header class="document-head">
      <button
        type="button"
        class="plain drawer-open"
        aria-label={t('Files and places')}
        aria-expanded={showsDrawer.value}
        onClick={() => (showsDrawer.value = true)}
      >
        <Icon of={PanelLeft} isPointing />
      </button>
      {path === null ? <span class="crumbs" /> : <Crumbs session={session} path={path} />}
      {/* The editor has its own part here. */}
      <div class="document-tools" ref={(element) => void (editorHead.value = element)} />
      {session.canShare && (
        <button type="button" class="primary share" onClick={() => (panel.value = 'share')}>
          {t('Share')}
        </button>
      )}
      {id !== null && (
        <button
          type="button"
          class="plain"
          aria-label={t('More')}
          aria-haspopup="menu"
          onClick={(event) =>
            openMenuBelow(event.currentTarget, t('Document'), documentMenu(session, id))
          }
        >
          <Icon of={Ellipsis} />
        </button>
      )}
    </header>
  )
}

function Crumbs({ session, path }: { session: Session; path: string }) {
  const directories = parentOf(path).split('/').filter(Boolean)
  return (
    <nav class="crumbs" aria-label={t('Path')}>
      <ol>
        <li class="crumb">
          <button type="button" class="crumb-button" onClick={() => openHome(session)}>
            {t('Start')}
          </button>
        </li>
        {directories.map((name, n) => {
          const above = `/${directories.slice(0, n + 1).join('/')}`
          return (
            <li key={above} class="crumb">
              <Icon of={ChevronRight} isPointing />
              <button
                type="button"
                class="crumb-button"
                title={above}
                onClick={() => {
                  revealInTree(above)
                  showsDrawer.value = true
                }}
              >
                {name}
              </button>
            </li>
          )
        })}
        <li class="crumb is-last">
          <Icon of={ChevronRight} isPointing />
          <FileName session={session} path={path} />
        </li>
      </ol>
    </nav>
  )
}

/** The name of the open file: a click makes it a field. */
function FileName({ session, path }: { session: Session; path: string }) {
  const name = nameOf(path)
  if (!isRenamingOpen.value) {
    return (
      <span class="file-name" aria-current="page">
        <button
          type="button"
          class="crumb-button"
          title={session.readOnly ? path : t('{path}: click to rename', { path })}
          disabled={session.readOnly}
          onClick={() => (isRenamingOpen.value = true)}
        >
          {name}
        </button>
      </span>
    )
  }
  return <NameField session={session} path={path} />
}

function NameField({ session, path }: { session: Session; path: string }) {
  const name = nameOf(path)
  const input = useRef<HTMLInputElement>(null)
  const [isSent, setSent] = useState(false)
  useLayoutEffect(() => {
    const dot = name.lastIndexOf('.')
    input.current!.focus()
    input.current!.setSelectionRange(0, dot > 0 ? dot : name.length)
  }, [])
  const finish = async (typed: string) => {
    if (isSent) return
    if (typed !== '' && typed !== name) {
      setSent(true)
      const isTaken = await report(session.move(path, join(parentOf(path), typed)))
      setSent(false)
      // A name that is refused stays, to be corrected.
      if (!isTaken) return
    }
    isRenamingOpen.value = false
  }
  return (
    <input
      ref={input}
      class="field file-name-field"
      aria-label={t('Name of this file')}
      defaultValue={name}
      onBlur={(event) => void finish(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Enter') void finish(event.currentTarget.value.trim())
        if (event.key === 'Escape') isRenamingOpen.value = false
      }}
    />
  )
}
