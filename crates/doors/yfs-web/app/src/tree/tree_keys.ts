// The keys of the tree: those of VS Code, and of the ARIA Authoring Practices, pattern "Tree View".

import { isRightToLeft } from '../look/place'
import type { Session } from '../session/workspace'
import {
  duplicateSelected,
  pasteTaken,
  renameFocused,
  takeSelected,
  trashSelected,
} from './tree_actions'
import { parentOf, type TreeRow } from './tree_model'
import {
  anchor,
  draft,
  filter,
  focused,
  selected,
  selectOnly,
  setExpanded,
  taken,
} from './tree_state'

/** How long letters belong to one name, in milliseconds. */
const TYPING_MS = 800

export interface TreeKeysOptions {
  session: Session
  rows: () => TreeRow[]
  onOpen: (path: string) => void
  onMenu: () => void
  /** Scrolls to a row. */
  onShow: (index: number) => void
}

/** Selects all from the anchor to a row. */
export function selectTo(rows: TreeRow[], path: string): void {
  const all = rows.map(({ entry }) => entry.path)
  const from = Math.max(0, all.indexOf(anchor.peek() ?? path))
  const to = all.indexOf(path)
  selected.value = new Set(all.slice(Math.min(from, to), Math.max(from, to) + 1))
  focused.value = path
}

export function toggleSelected(path: string): void {
  const paths = new Set(selected.peek())
  if (!paths.delete(path)) paths.add(path)
  selected.value = paths
  focused.value = path
  anchor.value = path
}

/** Makes the handler of the keys. */
export function treeKeys(options: TreeKeysOptions): (event: KeyboardEvent) => void {
  const { session, rows, onOpen, onMenu, onShow } = options
  let letters = ''
  let typedAt = 0

  const go = (list: TreeRow[], to: number, event: KeyboardEvent) => {
    const index = Math.max(0, Math.min(list.length - 1, to))
    const path = list[index]?.entry.path
    if (path === undefined) return
    if (event.shiftKey) selectTo(list, path)
    else if (event.ctrlKey || event.metaKey) focused.value = path
    else selectOnly(path)
    onShow(index)
  }

  /** Goes to the next name that begins with the letters that were typed. */
  const typeAhead = (list: TreeRow[], at: number, event: KeyboardEvent) => {
    if (event.timeStamp - typedAt > TYPING_MS) letters = ''
    typedAt = event.timeStamp
    letters += event.key.toLowerCase()
    // One letter again goes to the next name with it.
    const isSame = [...letters].every((letter) => letter === letters[0])
    const wanted = isSame ? letters[0]! : letters
    const start = isSame ? at + 1 : Math.max(0, at)
    const order = [...list.keys()].map((index) => (index + start) % list.length)
    const found = order.find((index) => list[index]!.name.toLowerCase().startsWith(wanted))
    if (found !== undefined) go(list, found, event)
  }

  const onArrow = (list: TreeRow[], at: number, event: KeyboardEvent) => {
    const row = list[at]
    if (row === undefined) return
    const isDirectory = row.entry.kind === 'directory'
    const isInward = (event.key === 'ArrowRight') === !isRightToLeft(document.body)
    if (isInward && isDirectory) {
      if (row.isExpanded) go(list, at + 1, event)
      else setExpanded(row.entry.path, true)
    } else if (!isInward) {
      if (row.isExpanded) setExpanded(row.entry.path, false)
      else
        go(
          list,
          list.findIndex(({ entry }) => entry.path === parentOf(row.entry.path)),
          event,
        )
    }
  }

  const act = (list: TreeRow[], at: number, event: KeyboardEvent): (() => void) | undefined => {
    const row = list[at]
    const plain: Record<string, () => void> = {
      ArrowDown: () => go(list, at + 1, event),
      ArrowUp: () => go(list, at - 1, event),
      Home: () => go(list, 0, event),
      End: () => go(list, list.length - 1, event),
      ArrowRight: () => onArrow(list, at, event),
      ArrowLeft: () => onArrow(list, at, event),
      Enter: () => {
        if (row === undefined) return
        if (row.entry.kind === 'directory') setExpanded(row.entry.path, !row.isExpanded)
        else onOpen(row.entry.path)
      },
      F2: () => renameFocused(session),
      Delete: () => void trashSelected(session),
      ContextMenu: onMenu,
    }
    if (event.key === 'F10' && event.shiftKey) return onMenu
    if (event.key === 'Escape' && (taken.peek() !== null || filter.peek() !== '')) {
      return () => {
        taken.value = null
        filter.value = ''
      }
    }
    return plain[event.key]
  }

  const actWithControl = (list: TreeRow[], at: number, key: string): (() => void) | undefined => {
    const row = list[at]
    const keys: Record<string, () => void> = {
      a: () => (selected.value = new Set(list.map(({ entry }) => entry.path))),
      x: () => takeSelected(session, true),
      c: () => takeSelected(session, false),
      v: () => void pasteTaken(session),
      d: () => void duplicateSelected(session),
      ' ': () => row !== undefined && toggleSelected(row.entry.path),
    }
    return keys[key]
  }

  return (event) => {
    if (draft.peek() !== null) return
    const list = rows()
    const at = list.findIndex(({ entry }) => entry.path === focused.peek())
    const hasControl = event.ctrlKey || event.metaKey
    const isLetter = event.key.length === 1 && (event.key !== ' ' || letters !== '')
    let action = act(list, at, event)
    if (hasControl && !event.shiftKey) {
      action ??= actWithControl(list, at, event.key.toLowerCase())
    } else if (isLetter && !hasControl && !event.altKey) {
      action ??= () => typeAhead(list, at, event)
    }
    if (action === undefined) return
    event.preventDefault()
    action()
  }
}
