// What a person can do with text: the bar, the bubble and the list of commands show the same.

import {
  Bold,
  Code,
  Heading1,
  Heading2,
  Heading3,
  Italic,
  Link,
  List,
  ListOrdered,
  ListTodo,
  Pilcrow,
  Quote,
  SquareCode,
  Strikethrough,
  Superscript,
  type IconNode,
} from 'lucide'
import { toggleMark } from 'prosemirror-commands'
import type { MarkType } from 'prosemirror-model'
import type { EditorState } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { canInsertFootnote, insertFootnote } from '../blocks/footnote_marks'
import { namesOf } from './schema_names'
import { kindAt, turnInto, type BlockKind } from './turn_into'
import { dispatchAlone, endUndoStep } from './undo_steps'

export interface FormatAction {
  id: string
  label: string
  icon: IconNode
  keys: string
  run: () => void
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Returns keys as the person's keyboard names them. */
export function showKeys(keys: string): string {
  if (!isMac) return keys.replace('Mod', 'Ctrl')
  return keys.replace('Mod', '⌘').replace('Alt', '⌥').replace('Shift', '⇧').replaceAll('+', '')
}

/** Returns the marks that can be switched, by the ids of their actions. */
function marksOf(state: EditorState): Record<string, MarkType | undefined> {
  const { bold, italic, strike, code, link } = namesOf(state.schema)
  return { bold, italic, strike, code, link }
}

/** Returns what holds at the selection: the kind of the block, and the ids of marks. */
export function formatAt(state: EditorState): string[] {
  const { from, $from, to, empty } = state.selection
  const present = state.storedMarks ?? $from.marks()
  const ids = Object.entries(marksOf(state)).flatMap(([id, type]) => {
    if (type === undefined) return []
    const isOn = empty ? type.isInSet(present) : state.doc.rangeHasMark(from, to, type)
    return isOn ? [id] : []
  })
  return [kindAt(state), ...ids]
}

/** Returns the actions on marks. */
export function markActions(view: EditorView, askForLink: () => void): FormatAction[] {
  const toggle = (type: MarkType) => () => {
    endUndoStep(view)
    toggleMark(type)(view.state, view.dispatch)
    view.focus()
  }
  const { bold, italic, strike, code } = namesOf(view.state.schema)
  const actions: FormatAction[] = [
    { id: 'bold', label: t('Bold'), icon: Bold, keys: 'Mod+B', run: toggle(bold) },
    { id: 'italic', label: t('Italic'), icon: Italic, keys: 'Mod+I', run: toggle(italic) },
  ]
  if (strike !== undefined) {
    const label = t('Strikethrough')
    const run = toggle(strike)
    actions.push({ id: 'strike', label, icon: Strikethrough, keys: 'Mod+Alt+X', run })
  }
  actions.push(
    { id: 'code', label: t('Code in text'), icon: Code, keys: 'Mod+E', run: toggle(code) },
    { id: 'link', label: t('Link'), icon: Link, keys: 'Mod+K', run: askForLink },
  )
  return actions
}

/** Returns the actions that put what the profile has at the caret. */
export function insertActions(view: EditorView): FormatAction[] {
  if (!canInsertFootnote(view.state)) return []
  const run = () => {
    insertFootnote(view.state, (tr) => dispatchAlone(view, tr))
    view.focus()
  }
  return [{ id: 'footnote', label: t('Footnote'), icon: Superscript, keys: 'Mod+Alt+F', run }]
}

/** Returns the actions that turn a block into another one. */
export function blockActions(view: EditorView): FormatAction[] {
  const make = (id: BlockKind, label: string, icon: IconNode, keys: string): FormatAction => ({
    id,
    label,
    icon,
    keys,
    run: () => {
      endUndoStep(view)
      turnInto(view, id)
      endUndoStep(view)
      view.focus()
    },
  })
  const actions = [
    make('text', t('Text'), Pilcrow, 'Mod+Alt+0'),
    make('heading-1', t('Heading 1'), Heading1, 'Mod+Alt+1'),
    make('heading-2', t('Heading 2'), Heading2, 'Mod+Alt+2'),
    make('heading-3', t('Heading 3'), Heading3, 'Mod+Alt+3'),
    make('bullets', t('Bullet list'), List, 'Mod+Alt+8'),
    make('numbers', t('Numbered list'), ListOrdered, 'Mod+Alt+7'),
  ]
  if (namesOf(view.state.schema).hasTasks) {
    actions.push(make('tasks', t('Task list'), ListTodo, 'Mod+Alt+9'))
  }
  actions.push(
    make('quote', t('Quote'), Quote, 'Mod+Shift+B'),
    make('code', t('Code'), SquareCode, 'Mod+Alt+C'),
  )
  return actions
}
