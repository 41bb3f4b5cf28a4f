// What can be done with the open document, as the menu of the head lists it.

import { Copy, History, Link, Pencil, Printer, Trash2 } from 'lucide'
import { t } from '../language/translate'
import type { MenuItems } from '../look/menu'
import type { Session } from '../session/workspace'
import { linkTo } from '../session/address'
import { report } from './message'
import { isRenamingOpen, openEditorHandle } from './view_state'

export function documentMenu(session: Session, id: string): MenuItems {
  const editor = openEditorHandle.peek()
  const path = session.pathOf(id) ?? ''
  const copy = (text: string) => void report(navigator.clipboard.writeText(text))
  const items: MenuItems = [
    { label: t('Copy link'), icon: Link, run: () => copy(linkTo(session, id)) },
    { label: t('Copy path'), icon: Copy, run: () => copy(path) },
  ]
  if (!session.readOnly) {
    items.push({ label: t('Rename'), icon: Pencil, run: () => (isRenamingOpen.value = true) })
  }
  items.push(null)
  if (editor !== null) {
    const views = editor.listViews()
    items.push(
      ...views.map(({ label, isShown, show }) => ({ label, isChecked: isShown, run: show })),
    )
    if (views.length > 0) items.push(null)
    // What is switched; keys and the bar have the rest.
    const switches = editor.actions().filter(({ isOn }) => isOn !== undefined)
    items.push(
      ...switches.map(({ label, isOn, run }) => ({ label, isChecked: isOn === true, run })),
    )
    if (switches.length > 0) items.push(null)
    items.push({ label: t('History'), icon: History, run: () => editor.toggleHistory() })
  }
  items.push({ label: t('Print'), icon: Printer, run: () => print() })
  if (!session.readOnly) {
    items.push(null, {
      label: t('Move to the trash'),
      icon: Trash2,
      isDanger: true,
      run: () => void report(session.trash(path)),
    })
  }
  return items
}
