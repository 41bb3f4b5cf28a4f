// The menu of a file, a directory, or all that is selected. It is loaded when it is first opened.

import {
  ArrowDownAZ,
  Clock,
  ClipboardPaste,
  Copy,
  CopyPlus,
  Download,
  ExternalLink,
  FilePlus,
  FileUp,
  FolderPlus,
  FolderUp,
  HardDrive,
  Link,
  Pencil,
  Scissors,
  Star,
  StarOff,
  Trash2,
} from 'lucide'
import { plural, t } from '../language/translate'
import { openMenu, type MenuItem, type MenuItems, type MenuPlace } from '../look/menu'
import { shorten } from '../session/refusal_words'
import type { Session } from '../session/workspace'
import { favorites, setFavorites } from './favorites'
import { linkTo } from '../session/address'
import {
  actedOn,
  chooseUploads,
  copyAddress,
  createNode,
  currentDirectory,
  downloadSelected,
  duplicateSelected,
  pasteTaken,
  renameFocused,
  takeSelected,
  trashSelected,
} from './tree_actions'
import { nameOf, type SortKey } from './tree_model'
import { setExpanded, sortBy, sortKey, taken } from './tree_state'

function openItems(session: Session, path: string, onOpen: (path: string) => void): MenuItem[] {
  const id = session.idsByPath.peek().get(path)
  const entry = session.entries.peek().find((entry) => entry.path === path)
  if (id === undefined) return []
  if (entry?.kind === 'directory') {
    return [{ label: t('Open'), keys: 'Enter', run: () => setExpanded(path, true) }]
  }
  return [
    { label: t('Open'), keys: 'Enter', run: () => onOpen(path) },
    {
      label: t('Open in a new tab'),
      icon: ExternalLink,
      run: () => void window.open(linkTo(session, id), '_blank'),
    },
  ]
}

function newItems(session: Session): MenuItem[] {
  const directory = currentDirectory(session)
  return [
    { label: t('New file'), icon: FilePlus, run: () => createNode(session, 'file', directory) },
    {
      label: t('New folder'),
      icon: FolderPlus,
      run: () => createNode(session, 'directory', directory),
    },
    { label: t('Upload files…'), icon: FileUp, run: () => void chooseUploads(session, 'files') },
    {
      label: t('Upload a folder…'),
      icon: FolderUp,
      run: () => void chooseUploads(session, 'directory'),
    },
  ]
}

function changeItems(session: Session, n: number): MenuItem[] {
  const rename: MenuItem = {
    label: t('Rename'),
    icon: Pencil,
    keys: 'F2',
    run: () => renameFocused(session),
  }
  return [
    ...(n === 1 ? [rename] : []),
    {
      label: t('Duplicate'),
      icon: CopyPlus,
      keys: 'Ctrl+D',
      run: () => void duplicateSelected(session),
    },
    { label: t('Cut'), icon: Scissors, keys: 'Ctrl+X', run: () => takeSelected(session, true) },
    { label: t('Copy'), icon: Copy, keys: 'Ctrl+C', run: () => takeSelected(session, false) },
    {
      label: t('Paste'),
      icon: ClipboardPaste,
      keys: 'Ctrl+V',
      isDisabled: taken.peek() === null,
      run: () => void pasteTaken(session),
    },
  ]
}

function shareItems(session: Session, paths: string[]): MenuItem[] {
  const ids = paths.flatMap((path) => session.idsByPath.peek().get(path) ?? [])
  const isFavorite = ids.every((id) => favorites.peek().includes(id))
  return [
    { label: t('Copy path'), icon: Copy, run: () => void copyAddress(session, 'path') },
    { label: t('Copy link'), icon: Link, run: () => void copyAddress(session, 'link') },
    { label: t('Download'), icon: Download, run: () => void downloadSelected(session) },
    {
      label: isFavorite ? t('Remove from favorites') : t('Add to favorites'),
      icon: isFavorite ? StarOff : Star,
      run: () => setFavorites(session, ids, !isFavorite),
    },
  ]
}

function sortItems(): MenuItem[] {
  const item = (key: SortKey, label: string, icon: MenuItem['icon']): MenuItem => ({
    label,
    ...(icon === undefined ? {} : { icon }),
    isChecked: sortKey.peek() === key,
    run: () => sortBy(key),
  })
  return [
    item('name', t('Sort by name'), ArrowDownAZ),
    item('change', t('Sort by last change'), Clock),
    item('size', t('Sort by size'), HardDrive),
  ]
}

/** Opens the menu of what is selected. */
export function openTreeMenu(
  session: Session,
  onOpen: (path: string) => void,
  at: MenuPlace,
): void {
  const paths = actedOn()
  const [first] = paths
  const label =
    paths.length === 1
      ? shorten(nameOf(first!))
      : plural(paths.length, '1 item', '{n} items selected')
  const canWrite = !session.readOnly
  const groups: MenuItem[][] = [
    paths.length === 1 ? openItems(session, first!, onOpen) : [],
    canWrite && paths.length <= 1 ? newItems(session) : [],
    canWrite && paths.length > 0 ? changeItems(session, paths.length) : [],
    paths.length > 0 ? shareItems(session, paths) : [],
    paths.length <= 1 ? sortItems() : [],
    canWrite && paths.length > 0 ? [trashItem(session)] : [],
  ]
  openMenu(label, withLines(groups), at)
}

function trashItem(session: Session): MenuItem {
  const label = t('Move to the trash')
  return {
    label,
    icon: Trash2,
    keys: 'Delete',
    isDanger: true,
    run: () => void trashSelected(session),
  }
}

/** Opens the menu of the tree as a whole. */
export function openViewMenu(session: Session, at: MenuPlace): void {
  const groups = [session.readOnly ? [] : newItems(session), sortItems()]
  openMenu(t('Files'), withLines(groups), at)
}

function withLines(groups: MenuItem[][]): MenuItems {
  const full = groups.filter((group) => group.length > 0)
  return full.flatMap((group, index) => (index === 0 ? group : [null, ...group]))
}
