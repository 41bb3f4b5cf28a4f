// The commands of the palette. Each is what a button or a key does too.

import { t } from '../language/translate'
import type { Session } from '../session/workspace'
import {
  chooseUploads,
  copyAddress,
  createNode,
  downloadSelected,
  duplicateSelected,
  renameFocused,
  trashSelected,
} from '../tree/file_tree'
import { toggleTheme } from './theme'
import { openEditorHandle, panel, showsActivity } from './view_state'

export interface Command {
  name: string
  /** The keys that do the same. */
  keys?: string
  run: () => void
}

/** Asks for the name that others see. */
export function renamePerson(session: Session): void {
  const name = prompt('Your name, as others see it', session.person.peek().name)?.trim()
  if (name) session.rename(name)
}

/** Returns what a person can do now. */
export function listCommands(session: Session): Command[] {
  const editor = openEditorHandle.peek()
  const changes: Command[] = [
    { name: 'New file', run: () => createNode(session, 'file') },
    { name: 'New folder', run: () => createNode(session, 'directory') },
    { name: 'Rename the selected file or folder', keys: 'F2', run: () => renameFocused(session) },
    {
      name: 'Move the selection to the trash',
      keys: 'Delete',
      run: () => void trashSelected(session),
    },
    { name: t('Duplicate the selection'), run: () => void duplicateSelected(session) },
    { name: t('Upload files'), run: () => void chooseUploads(session, 'files') },
    { name: t('Upload a folder'), run: () => void chooseUploads(session, 'directory') },
  ]
  const views: Command[] = [
    { name: 'Open a file', keys: 'Ctrl+P', run: () => (panel.value = 'quick-open') },
    { name: 'Search in files', keys: 'Ctrl+Shift+F', run: () => (panel.value = 'search') },
    { name: 'Show the trash', run: () => (panel.value = 'trash') },
    {
      name: showsActivity.peek() ? 'Hide the activity' : 'Show the activity',
      run: () => (showsActivity.value = !showsActivity.peek()),
    },
    { name: t('Download the selection'), run: () => void downloadSelected(session) },
    { name: t('Copy the path of the selection'), run: () => void copyAddress(session, 'path') },
    { name: t('Copy a link to the selection'), run: () => void copyAddress(session, 'link') },
    { name: 'Light or dark', run: toggleTheme },
    { name: 'Change your name', run: () => renamePerson(session) },
  ]
  const ofFile: Command[] =
    editor === null ? [] : [{ name: 'History of this file', run: () => editor.toggleHistory() }]
  return [...ofFile, ...(session.readOnly ? [] : changes), ...views]
}
