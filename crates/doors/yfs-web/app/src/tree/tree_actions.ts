// What a person does to files in the tree. Moves, renames and the trash can be undone.

import { signal } from '@preact/signals'
import { plural, t } from '../language/translate'
import { shorten } from '../session/refusal_words'
import type { Session } from '../session/workspace'
import { message, report } from '../shell/message'
import { linkTo } from '../session/address'
import { freePath, join, nameOf, parentOf, topOf } from './tree_model'
import {
  draft,
  expanded,
  focused,
  focusTree,
  selected,
  selectOnly,
  setExpanded,
  taken,
  type Draft,
} from './tree_state'

/** What was done last, with the way back. */
export const undoable = signal<{ text: string; undo: () => Promise<unknown> } | null>(null)

const entryAt = (session: Session, path: string | null) =>
  session.entries.peek().find((entry) => entry.path === path)

/** Returns the directory in which a person is: the focused one, or the one of the focused file. */
export function currentDirectory(session: Session): string {
  const at = focused.peek()
  const entry = entryAt(session, at)
  if (at === null || entry === undefined) return session.top
  return entry.kind === 'directory' ? at : parentOf(at)
}

/** Returns what is selected, without what is inside of it; else what has the focus. */
export function actedOn(): string[] {
  if (selected.peek().size > 0) return topOf(selected.peek())
  return focused.peek() === null ? [] : [focused.peek()!]
}

/** Begins a new file or directory in a directory: by default where the focus of the tree is. */
export function createNode(
  session: Session,
  kind: 'file' | 'directory',
  directory = currentDirectory(session),
): void {
  if (session.readOnly) return
  if (directory !== '/' && !expanded.peek().has(directory)) setExpanded(directory, true)
  draft.value = { directory, kind, renames: null, before: document.activeElement }
}

/** Begins to rename the focused node. */
export function renameFocused(session: Session): void {
  const entry = entryAt(session, focused.peek())
  if (entry === undefined || session.readOnly) return
  const kind = entry.kind === 'directory' ? 'directory' : 'file'
  const before = document.activeElement
  draft.value = { directory: parentOf(entry.path), kind, renames: entry.path, before }
}

/** Ends the typing of a name without a change; the focus goes back. */
export function cancelDraft(): void {
  const before = draft.peek()?.before
  draft.value = null
  message.value = null
  const isBack = before instanceof HTMLElement && before.isConnected && before !== document.body
  if (isBack) before.focus()
  else focusTree()
}

/**
 * Makes or renames what a draft names, and opens a new file. A name that is refused stays, to be
 * corrected. Returns whether it was taken.
 */
export async function finishDraft(
  session: Session,
  typed: Draft,
  name: string,
  onOpen: (path: string) => void,
): Promise<boolean> {
  const path = join(typed.directory, name)
  if (!(await report(sendDraft(session, typed, path)))) return false
  // Another one may have begun meanwhile.
  if (draft.peek() === typed) draft.value = null
  selectOnly(path)
  if (typed.renames === null && typed.kind === 'file') {
    // The editor takes the focus unless the tree has it.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    onOpen(path)
  } else {
    focusTree()
  }
  return true
}

async function sendDraft(session: Session, typed: Draft, path: string): Promise<void> {
  const { renames, kind } = typed
  if (renames !== null) {
    await session.move(renames, path)
    offerMoveBack(session, [[renames, path]])
  } else if (kind === 'directory') await session.createDirectory(path)
  else await session.createFile(path)
}

function offerMoveBack(session: Session, moves: [from: string, to: string][]): void {
  const [from, to] = moves[0]!
  const isRename = moves.length === 1 && parentOf(from) === parentOf(to)
  const text = isRename
    ? t('Renamed to {name}', { name: shorten(nameOf(to)) })
    : plural(moves.length, 'Moved 1 item to {place}', 'Moved {n} items to {place}', {
        place: parentOf(to),
      })
  undoable.value = {
    text,
    undo: async () => {
      for (const [from, to] of moves.toReversed()) await session.move(to, from)
    },
  }
}

/** Moves nodes into a directory. */
export async function moveInto(
  session: Session,
  paths: readonly string[],
  directory: string,
): Promise<void> {
  if (session.readOnly) return
  const moves: [string, string][] = []
  for (const path of topOf(paths)) {
    const isInside = directory === path || directory.startsWith(`${path}/`)
    if (isInside || parentOf(path) === directory) continue
    const to = join(directory, nameOf(path))
    if (!(await report(session.move(path, to)))) break
    moves.push([path, to])
  }
  if (moves.length > 0) offerMoveBack(session, moves)
}

/** Moves what is selected to the trash. */
export async function trashSelected(session: Session): Promise<void> {
  if (session.readOnly) return
  const ids: string[] = []
  for (const path of actedOn()) {
    const id = session.idsByPath.peek().get(path)
    if ((await report(session.trash(path))) && id !== undefined) ids.push(id)
  }
  selected.value = new Set()
  if (ids.length === 0) return
  const text = plural(ids.length, 'Moved 1 item to the trash', 'Moved {n} items to the trash')
  const undo = async () => {
    for (const id of ids) await session.restore(id)
  }
  undoable.value = { text, undo }
}

const isTakenIn = (session: Session) => (path: string) => session.idsByPath.peek().has(path)

const copyLabel = (stem: string, n: number) =>
  n === 1 ? t('{name} copy', { name: stem }) : t('{name} copy {n}', { name: stem, n })

/** Copies what is selected, beside it. */
export async function duplicateSelected(session: Session): Promise<void> {
  if (session.readOnly) return
  let last: string | null = null
  for (const path of actedOn()) {
    const to = freePath(isTakenIn(session), path, copyLabel)
    if (await report(session.copy(path, to))) last = to
  }
  if (last !== null) selectOnly(last)
}

/** Takes what is selected, to be pasted elsewhere. */
export function takeSelected(session: Session, isCut: boolean): void {
  const paths = actedOn()
  if (paths.length > 0) taken.value = { paths, isCut: isCut && !session.readOnly }
}

/** Moves or copies what was taken into the directory where the focus is. */
export async function pasteTaken(session: Session): Promise<void> {
  const nodes = taken.peek()
  if (nodes === null || session.readOnly) return
  const directory = currentDirectory(session)
  if (nodes.isCut) {
    taken.value = null
    return moveInto(session, nodes.paths, directory)
  }
  for (const path of nodes.paths) {
    const to = join(directory, nameOf(path))
    const free = isTakenIn(session)(to) ? freePath(isTakenIn(session), to, copyLabel) : to
    if (!(await report(session.copy(path, free)))) return
  }
}

/** Puts the paths of what is selected on the clipboard, or links to it. */
export async function copyAddress(session: Session, of: 'path' | 'link'): Promise<void> {
  const lines = actedOn().map((path) => {
    const id = session.idsByPath.peek().get(path)
    return of === 'path' || id === undefined ? path : linkTo(session, id)
  })
  if (lines.length > 0) await report(navigator.clipboard.writeText(lines.join('\n')))
}

/** Downloads what is selected: a file, or several as an archive. */
export async function downloadSelected(session: Session): Promise<void> {
  const paths = actedOn()
  if (paths.length === 0) return
  const { download } = await import('../transfer/download')
  await report(download(session, paths))
}

/** Asks for files, or for a directory, and uploads them. */
export async function chooseUploads(session: Session, of: 'files' | 'directory'): Promise<void> {
  const directory = currentDirectory(session)
  const { chooseFiles } = await import('../transfer/choose_files')
  const { uploadAll } = await import('../transfer/upload_queue')
  const files = await chooseFiles(of)
  await uploadAll(session, directory, files)
}

/** Uploads files into a directory. */
export async function uploadFiles(
  session: Session,
  directory: string,
  files: readonly File[],
): Promise<void> {
  const { uploadAll } = await import('../transfer/upload_queue')
  await uploadAll(
    session,
    directory,
    files.map((file) => ({ name: file.name, file })),
  )
}

/** Uploads what was dropped: files and whole directories. */
export function uploadDropped(session: Session, directory: string, transfer: DataTransfer): void {
  if (session.readOnly) return
  // The browser forgets the items after this event.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const plain = entries.length > 0 ? [] : [...transfer.files]
  const named = plain.map((file) => ({ name: file.name, file }))
  void report(
    Promise.all([import('../transfer/dropped_files'), import('../transfer/upload_queue')]).then(
      async ([{ listEntries }, { uploadAll }]) =>
        uploadAll(session, directory, [...named, ...(await listEntries(entries))]),
    ),
  )
}
