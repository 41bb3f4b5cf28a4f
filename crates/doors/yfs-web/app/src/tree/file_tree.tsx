// The tree of files: virtual, with the keys of VS Code.

import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { t } from '../language/translate'
import type { Session } from '../session/workspace'
import { density } from '../settings/settings'
import { selectTo, toggleSelected, treeKeys } from './tree_keys'
import { childrenByPath, filterEntries, visibleRows, type TreeRow } from './tree_model'
import { Favorites, SidebarEdge, TreeBar, UndoNotice } from './tree_parts'
import { dropHandlers, rowId, TreeRowView } from './tree_row'
import {
  draft,
  dropTarget,
  expanded,
  filter,
  focused,
  selected,
  selectOnly,
  setExpanded,
  sortKey,
} from './tree_state'
import './tree.css'

export {
  chooseUploads,
  copyAddress,
  createNode,
  downloadSelected,
  duplicateSelected,
  renameFocused,
  trashSelected,
  uploadFiles,
} from './tree_actions'
export { revealInTree } from './tree_state'

/** How many rows are drawn beyond the edges. */
const MARGIN = 10

export interface FileTreeProps {
  session: Session
  openPath: string | null
  onOpen: (path: string) => void
  /** A person wants to settle that several nodes have the name of this one. */
  onSharedName: (id: string) => void
}

/** Returns the height of a row, in CSS pixels: of the density, and larger for a finger. */
const rowHeight = () =>
  parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row-height'), 10) || 26

/** Lists the rows as they change. */
function useRows(session: Session) {
  const children = useComputed(() =>
    childrenByPath(filterEntries(session.entries.value, filter.value)),
  )
  return useComputed(() =>
    visibleRows(children.value, {
      top: session.top,
      expanded: expanded.value,
      sort: sortKey.value,
      draft: draft.value?.renames === null ? draft.value : null,
      isFiltered: filter.value.trim() !== '',
    }),
  )
}

export function FileTree(props: FileTreeProps) {
  const { session, onOpen } = props
  return (
    <>
      <TreeBar session={session} />
      <Favorites session={session} onOpen={onOpen} />
      <Tree {...props} />
      <SidebarEdge />
      <UndoNotice />
    </>
  )
}

function Tree({ session, openPath, onOpen, onSharedName }: FileTreeProps) {
  const rows = useRows(session)
  const scroll = useSignal({ top: 0, height: 800 })
  const root = useRef<HTMLDivElement>(null)
  const height = useMemo(rowHeight, [density.value])

  useEffect(() => {
    const element = root.current!
    const measure = () => {
      scroll.value = { top: element.scrollTop, height: element.clientHeight }
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => observer.disconnect()
  }, [])

  const show = (index: number) => keepInView(root.current!, index, height)
  const typed = draft.value
  // Before painting: the field takes the focus, and the browser would scroll by itself.
  useLayoutEffect(() => {
    if (typed !== null && typed.renames === null) show(rows.peek().findIndex((row) => row.isDraft))
  }, [typed])

  const act = (row: TreeRow, event: MouseEvent) => {
    const { path } = row.entry
    if (event.ctrlKey || event.metaKey) return toggleSelected(path)
    if (event.shiftKey) return selectTo(rows.peek(), path)
    selectOnly(path)
    if (row.entry.kind === 'directory') setExpanded(path, !row.isExpanded)
    else onOpen(path)
  }

  const openMenuOf = (path: string | null, at: { left: number; top: number }) => {
    if (path !== null && !selected.peek().has(path)) selectOnly(path)
    else if (path !== null) focused.value = path
    root.current!.focus()
    void import('./tree_menu').then(({ openTreeMenu }) => openTreeMenu(session, onOpen, at))
  }
  const openMenuOfFocused = () => {
    const path = focused.peek()
    const row = path === null ? null : document.getElementById(rowId(path))
    const { left, bottom } = (row ?? root.current!).getBoundingClientRect()
    openMenuOf(path, { left: left + height, top: bottom })
  }
  const onKeyDown = useMemo(
    () =>
      treeKeys({
        session,
        rows: () => rows.peek().filter((row) => !row.isDraft),
        onOpen,
        onMenu: openMenuOfFocused,
        onShow: show,
      }),
    [session, height],
  )

  const total = rows.value.length
  const first = Math.max(0, Math.floor(scroll.value.top / height) - MARGIN)
  const end = Math.ceil((scroll.value.top + scroll.value.height) / height) + MARGIN
  const drawn = rows.value.slice(first, Math.min(total, end))
  // An id that no row has would be a fault (axe).
  const active = drawn.find(({ entry }) => entry.path === focused.value)
  return (
    <div
      ref={root}
      class={dropTarget.value === session.top ? 'tree is-drop-target' : 'tree'}
      // A tree has an item at least (WAI-ARIA 1.2, "Required Owned Elements").
      role={total === 0 ? 'group' : 'tree'}
      aria-label={t('Files')}
      aria-multiselectable={total === 0 ? undefined : true}
      tabIndex={0}
      aria-activedescendant={active === undefined ? undefined : rowId(active.entry.path)}
      onKeyDown={onKeyDown}
      onContextMenu={(event) => {
        if (event.target !== root.current) return
        event.preventDefault()
        focused.value = null
        selected.value = new Set()
        openMenuOf(null, { left: event.clientX, top: event.clientY })
      }}
      {...dropHandlers(session, session.top)}
    >
      <div style={{ height: `${total * height}px`, position: 'relative' }} role="presentation">
        {drawn.map((row, index) => (
          <TreeRowView
            key={row.isDraft ? 'draft' : row.entry.path}
            row={row}
            top={(first + index) * height}
            session={session}
            isOpen={row.entry.path === openPath}
            onAct={act}
            onOpen={onOpen}
            onMenu={openMenuOf}
            onSharedName={onSharedName}
          />
        ))}
      </div>
      {total === 0 && <p class="empty">{emptyText()}</p>}
    </div>
  )
}

function emptyText(): string {
  return filter.value === ''
    ? t('No files yet. Drop some here, or make a new one.')
    : t('No name has these letters.')
}

function keepInView(element: HTMLElement, index: number, height: number): void {
  const top = index * height
  if (top < element.scrollTop) element.scrollTop = top
  const bottom = top + height - element.clientHeight
  if (bottom > element.scrollTop) element.scrollTop = bottom
}
