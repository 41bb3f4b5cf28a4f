// The commands of the palette. Each is what a button or a key does too.

import { t } from '../language/translate'
import type { Session } from '../session/workspace'
import { createNode, renameFocused, trashSelected } from '../tree/file_tree'
import { toggleTheme } from './theme'
import { openEditorHandle, panel, showsActivity } from './view_state'

export interface Command {
  name: string
  /** The keys that do the same. */
  keys?: string
  run: () => void
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
  ]
  const views: Command[] = [
    { name: 'Open a file', keys: 'Ctrl+P', run: () => (panel.value = 'quick-open') },
    { name: 'Search in files', keys: 'Ctrl+Shift+F', run: () => (panel.value = 'search') },
    { name: 'Show the trash', run: () => (panel.value = 'trash') },
    {
      name: showsActivity.peek() ? 'Hide the activity' : 'Show the activity',
      run: () => (showsActivity.value = !showsActivity.peek()),
    },
    { name: 'Light or dark', run: toggleTheme },
  ]
  if (session.canRename) {
    views.push({ name: t('Change your name'), run: () => (panel.value = 'name') })
  }
  if (session.canShare) views.push({ name: t('Share'), run: () => (panel.value = 'share') })
  const ofFile: Command[] =
    editor === null ? [] : [{ name: 'History of this file', run: () => editor.toggleHistory() }]
  return [...ofFile, ...(session.readOnly ? [] : changes), ...views]
}
