// What the application shows: the open file, and what lies above or beside it.

import { signal } from '@preact/signals'
import type { EditorHandle } from '../editors'
import type { Session } from '../session/workspace'
import { revealInTree } from '../tree/file_tree'

export type Panel = 'quick-open' | 'commands' | 'search' | 'trash' | 'name' | 'share'

export const openId = signal<string | null>(null)
/** The line of the open file that was asked for. */
export const openLine = signal<number | null>(null)
export const panel = signal<Panel | null>(null)
export const showsActivity = signal(false)
/** The id of a node whose name other nodes have too, while a person settles that. */
export const sharedNameOf = signal<string | null>(null)
/** The editor of the open file, once it is loaded. */
export const openEditorHandle = signal<EditorHandle | null>(null)

/** Opens a file; nothing happens if the path is not listed. */
export function open(session: Session, path: string, line: number | null = null): void {
  const id = session.idsByPath.peek().get(path)
  if (id === undefined) return
  openLine.value = line
  openId.value = id
  panel.value = null
  session.announce(id)
  revealInTree(path)
  const address = `#${encodeURI(path)}`
  // The first file takes the place of the address by which the application was opened.
  if (location.hash === '') history.replaceState(null, '', address)
  else if (location.hash !== address) history.pushState(null, '', address)
}

/** Closes what lies above the files; reports whether anything did. */
export function closePanel(): boolean {
  const isOpen = panel.peek() !== null || sharedNameOf.peek() !== null
  panel.value = null
  sharedNameOf.value = null
  return isOpen
}
