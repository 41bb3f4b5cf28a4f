// The commands of the palette. Each is what a button or a key does too.

import { t } from '../language/translate'
import type { Session } from '../session/workspace'
import { toggleTheme } from '../settings/settings'
import {
  chooseUploads,
  copyAddress,
  createNode,
  downloadSelected,
  duplicateSelected,
  renameFocused,
  trashSelected,
} from '../tree/file_tree'
import { documentMenu } from './document_menu'
import { openEditorHandle, openHome, openId, panel, showsActivity } from './view_state'

export interface Command {
  name: string
  /** The keys that do the same. */
  keys?: string
  run: () => void
}

function changesOf(session: Session): Command[] {
  return [
    { name: t('New file'), run: () => createNode(session, 'file') },
    { name: t('New folder'), run: () => createNode(session, 'directory') },
    {
      name: t('Rename the selected file or folder'),
      keys: 'F2',
      run: () => renameFocused(session),
    },
    {
      name: t('Move the selection to the trash'),
      keys: 'Delete',
      run: () => void trashSelected(session),
    },
    { name: t('Duplicate the selection'), run: () => void duplicateSelected(session) },
    { name: t('Upload files'), run: () => void chooseUploads(session, 'files') },
    { name: t('Upload a folder'), run: () => void chooseUploads(session, 'directory') },
  ]
}

function viewsOf(session: Session): Command[] {
  return [
    { name: t('Open a file'), keys: 'Ctrl+P', run: () => (panel.value = 'quick-open') },
    { name: t('Go to the start page'), run: () => openHome(session) },
    { name: t('Search in files'), keys: 'Ctrl+Shift+F', run: () => (panel.value = 'search') },
    { name: t('Show the trash'), run: () => (panel.value = 'trash') },
    { name: t('Settle conflicts'), run: () => (panel.value = 'conflicts') },
    {
      name: showsActivity.peek() ? t('Hide the activity') : t('Show the activity'),
      run: () => (showsActivity.value = !showsActivity.peek()),
    },
    { name: t('Download the selection'), run: () => void downloadSelected(session) },
    { name: t('Copy the path of the selection'), run: () => void copyAddress(session, 'path') },
    { name: t('Copy a link to the selection'), run: () => void copyAddress(session, 'link') },
    { name: t('Light or dark'), run: toggleTheme },
    { name: t('Settings'), run: () => (panel.value = 'settings') },
    { name: t('Keyboard shortcuts'), keys: 'Ctrl+/', run: () => (panel.value = 'shortcuts') },
  ]
}

/** Returns what can be done with the open file. */
function ofFile(session: Session): Command[] {
  const id = openId.peek()
  if (id === null) return []
  const editor = openEditorHandle.peek()
  const history = { name: t('History of this file'), run: () => editor?.toggleHistory() }
  const items = documentMenu(session, id).filter((item) => item !== null)
  const others = items.filter(({ label }) => label !== t('History'))
  const actions = (editor?.actions() ?? []).map(({ label, keys, run }) => ({
    name: label,
    ...(keys !== undefined && { keys }),
    // After the list has given the focus back.
    run: () => queueMicrotask(run),
  }))
  const named = others.map(({ label, run }) => ({
    name: t('This file: {command}', { command: label }),
    run,
  }))
  return [...(editor === null ? [] : [history]), ...actions, ...named]
}

function ofPeople(session: Session): Command[] {
  const name = { name: t('Change your name'), run: () => (panel.value = 'name') }
  const share = { name: t('Share'), run: () => (panel.value = 'share') }
  return [...(session.canRename ? [name] : []), ...(session.canShare ? [share] : [])]
}

/** Returns what a person can do now. */
export function listCommands(session: Session): Command[] {
  const changes = session.readOnly ? [] : changesOf(session)
  return [...changes, ...viewsOf(session), ...ofPeople(session), ...ofFile(session)]
}
