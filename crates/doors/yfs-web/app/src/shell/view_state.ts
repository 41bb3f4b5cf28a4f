// What the application shows: the open file, and what lies above or beside it.

import { effect, signal } from '@preact/signals'
import type { EditorHandle } from '../editors'
import type { Session } from '../session/workspace'
import { revealInTree } from '../tree/file_tree'
import { addressOf, idAt, parseAddress, type FileAddress, type FilePlace } from '../session/address'
import { noteRecent } from './recent'

export type Panel =
  | 'quick-open'
  | 'commands'
  | 'search'
  | 'trash'
  | 'conflicts'
  | 'name'
  | 'share'
  | 'settings'
  | 'shortcuts'

export const openId = signal<string | null>(null)
/** The line of the open file that was asked for. */
export const openLine = signal<number | null>(null)
/** The heading of the open file that was asked for. */
export const openHeading = signal<string | null>(null)
/** The address that names no file that is here. */
export const missing = signal<FileAddress | null>(null)
export const panel = signal<Panel | null>(null)
export const showsActivity = signal(false)
/** Whether the sidebar lies above the page; only on a narrow screen. */
export const showsDrawer = signal(false)
/** The place in the head of the page where the editor has its own part. */
export const editorHead = signal<HTMLElement | null>(null)
/** Whether the name of the open file is a field now. */
export const isRenamingOpen = signal(false)
/** The editor of the open file, once it is loaded. */
export const openEditorHandle = signal<EditorHandle | null>(null)

/** What a workspace begins with, if the address names nothing. */
const BEGINNINGS = ['/README.md', '/readme.md', '/index.md', '/README.txt', '/README']

function show(session: Session, id: string | null, place: FilePlace): void {
  openLine.value = place.line ?? null
  openHeading.value = place.heading ?? null
  openId.value = id
  missing.value = null
  isRenamingOpen.value = false
  panel.value = null
  showsDrawer.value = false
  session.announce(id)
  if (id === null) return
  noteRecent(session.id, id)
  revealInTree(session.pathOf(id) ?? '/')
}

/** Opens a file; nothing happens if the path is not listed. */
export function open(session: Session, path: string, line: number | null = null): void {
  const id = session.idsByPath.peek().get(path)
  if (id !== undefined) openById(session, id, line === null ? {} : { line })
}

/** Opens a file at a place, as a new step of the browser's history. */
export function openById(session: Session, id: string, place: FilePlace = {}): void {
  const isShown = openId.peek() === id
  show(session, id, place)
  const address = addressOf(session.pathOf(id) ?? '/', id, place)
  if (isShown || location.hash === '') history.replaceState(null, '', address)
  else if (location.hash !== address) history.pushState(null, '', address)
}

/** Shows the start page of the workspace. */
export function openHome(session: Session): void {
  show(session, null, {})
  if (location.hash !== '#/') history.pushState(null, '', '#/')
}

/** Shows what the address names: at the start, on Back and Forward, and when a person types one. */
export function openFromAddress(session: Session): void {
  const address = parseAddress(location.hash)
  if (address === null) {
    const first = BEGINNINGS.find((path) => session.idsByPath.peek().has(path))
    if (first === undefined) show(session, null, {})
    else open(session, first)
    return
  }
  if (address.path === '/') return show(session, null, {})
  const id = idAt(session, address)
  const entry = session.entries.peek().find(({ guid }) => guid === id)
  if (entry?.kind === 'directory') {
    // A folder has no page of its own: the tree shows where it is.
    show(session, null, {})
    revealInTree(entry.path)
    return
  }
  if (id !== null) {
    show(session, id, address)
    const { line, heading } = address
    const place = { ...(line !== undefined && { line }), ...(heading !== undefined && { heading }) }
    history.replaceState(null, '', addressOf(session.pathOf(id) ?? '/', id, place))
    return
  }
  show(session, null, {})
  missing.value = address
}

/**
 * Keeps the address and the title of the window true while files are renamed, and opens a file that
 * was missing once it is here. Returns the end of it.
 */
export function followAddress(session: Session): () => void {
  const stops = [
    effect(() => {
      const id = openId.value
      const path = id === null ? undefined : session.pathsById.value.get(id)
      const name = path?.slice(path.lastIndexOf('/') + 1)
      document.title = name === undefined ? 'yfs' : `${name} – yfs`
      if (id === null || path === undefined) return
      const shown = parseAddress(location.hash)
      if (shown !== null && shown.id === id && shown.path !== path) {
        history.replaceState(null, '', addressOf(path, id, shown))
      }
    }),
    effect(() => {
      void session.pathsById.value
      const wanted = missing.value
      if (wanted !== null && idAt(session, wanted) !== null) {
        queueMicrotask(() => openFromAddress(session))
      }
    }),
  ]
  return () => stops.forEach((stop) => stop())
}

/** Closes what lies above the files; reports whether anything did. */
export function closePanel(): boolean {
  const isOpen = panel.peek() !== null || showsDrawer.peek()
  panel.value = null
  showsDrawer.value = false
  return isOpen
}
