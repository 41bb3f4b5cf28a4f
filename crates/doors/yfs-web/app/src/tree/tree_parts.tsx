// What stands around the tree: its field to filter, the favorites, the edge that is dragged, and
// the notice that undoes.

import { useEffect } from 'preact/hooks'
import { Ellipsis, Star, X } from 'lucide'
import { t } from '../language/translate'
import { Icon } from '../look/icon'
import { placeBelow } from '../look/menu'
import { isRightToLeft } from '../look/place'
import type { Session } from '../session/workspace'
import { report } from '../shell/message'
import { favorites, loadFavorites, setFavorites } from './favorites'
import { undoable } from './tree_actions'
import { nameOf } from './tree_model'
import { filter, focusTree, revealInTree } from './tree_state'

/** How long a notice stays, in milliseconds. */
const NOTICE_MS = 10_000

export function TreeBar({ session }: { session: Session }) {
  return (
    <div class="tree-bar">
      <input
        class="field"
        type="search"
        aria-label={t('Filter files')}
        placeholder={t('Filter files')}
        value={filter.value}
        onInput={(event) => (filter.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') filter.value = ''
          else if (event.key !== 'ArrowDown' && event.key !== 'Enter') return
          event.preventDefault()
          event.stopPropagation()
          focusTree()
        }}
      />
      <button
        type="button"
        class="plain"
        aria-label={t('Actions for files')}
        title={t('Actions for files')}
        onClick={(event) => {
          const at = placeBelow(event.currentTarget)
          void import('./tree_menu').then(({ openViewMenu }) => openViewMenu(session, at))
        }}
      >
        <Icon of={Ellipsis} />
      </button>
    </div>
  )
}

export function Favorites({
  session,
  onOpen,
}: {
  session: Session
  onOpen: (path: string) => void
}) {
  useEffect(() => loadFavorites(session), [session])
  const shown = favorites.value.flatMap((id) => {
    const path = session.pathsById.value.get(id)
    return path === undefined ? [] : [{ id, path }]
  })
  if (shown.length === 0) return null
  const open = (path: string) => {
    revealInTree(path)
    const entry = session.entries.peek().find((entry) => entry.path === path)
    if (entry?.kind === 'directory') focusTree()
    else onOpen(path)
  }
  return (
    <ul class="favorites" aria-label={t('Favorites')}>
      {shown.map(({ id, path }) => (
        <li key={id}>
          <button type="button" class="plain" title={path} onClick={() => open(path)}>
            <Icon of={Star} />
            <span class="tree-name">{nameOf(path)}</span>
          </button>
          <button
            type="button"
            class="plain favorite-remove"
            aria-label={t('Remove {name} from favorites', { name: nameOf(path) })}
            onClick={() => setFavorites(session, [id], false)}
          >
            <Icon of={X} />
          </button>
        </li>
      ))}
    </ul>
  )
}

const WIDTH = 'yfs:sidebar-width'
const [MIN_WIDTH, MAX_WIDTH, STEP] = [180, 640, 16]

function setWidth(width: number): number {
  const fit = Math.round(Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, innerWidth * 0.7, width)))
  document.documentElement.style.setProperty('--sidebar-width', `${fit}px`)
  localStorage.setItem(WIDTH, String(fit))
  return fit
}

const kept = Number(localStorage.getItem(WIDTH))
if (kept > 0) setWidth(kept)

/** The edge of the sidebar, which is dragged, or moved by arrow keys. */
export function SidebarEdge() {
  const widthOf = (edge: Element) => edge.parentElement!.getBoundingClientRect().width
  return (
    <div
      class="sidebar-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={t('Width of the sidebar')}
      aria-valuemin={MIN_WIDTH}
      aria-valuemax={MAX_WIDTH}
      aria-valuenow={kept > 0 ? kept : 280}
      tabIndex={0}
      onDblClick={() => {
        localStorage.removeItem(WIDTH)
        document.documentElement.style.removeProperty('--sidebar-width')
      }}
      onPointerDown={(event) => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        const edge = event.currentTarget
        if (!edge.hasPointerCapture(event.pointerId)) return
        const { left, right } = edge.parentElement!.getBoundingClientRect()
        setWidth(isRightToLeft(edge) ? right - event.clientX : event.clientX - left)
      }}
      onKeyDown={(event) => {
        const outward = isRightToLeft(event.currentTarget) ? 'ArrowLeft' : 'ArrowRight'
        const step = event.key === outward ? STEP : -STEP
        if (!event.key.startsWith('Arrow')) return
        event.preventDefault()
        const edge = event.currentTarget
        edge.setAttribute('aria-valuenow', String(setWidth(widthOf(edge) + step)))
      }}
    />
  )
}

/** Says what was done, with a button that takes it back. */
export function UndoNotice() {
  const done = undoable.value
  useEffect(() => {
    if (done === null) return
    const timer = setTimeout(() => (undoable.value = null), NOTICE_MS)
    return () => clearTimeout(timer)
  }, [done])
  return (
    <div class="undo-notice" role="status" hidden={done === null}>
      {done !== null && (
        <>
          <span>{done.text}</span>
          <button
            type="button"
            onClick={() => {
              undoable.value = null
              void report(done.undo())
            }}
          >
            {t('Undo')}
          </button>
        </>
      )}
    </div>
  )
}
