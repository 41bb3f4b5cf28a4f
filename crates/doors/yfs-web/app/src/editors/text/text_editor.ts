// CodeMirror on `Y.Text('text')`.

import { Compartment, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import * as Y from 'yjs'
import { t } from '../../language/translate'
import { CARRIED, carrySelection, type SharedSelection } from '../caret/carry_caret'
import { carryUndo } from '../caret/carry_undo'
import { pressOf, type HeldKey } from '../caret/held_keys'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import { makeNotice } from '../notice'
import { ChangedLinesSlot } from './changed_lines_slot'
import {
  editingExtensions,
  LanguageSlot,
  revealLine,
  symbolsOf,
  viewExtensions,
  VimSlot,
} from './setup'
import { TextBinding } from './text_binding'
import { TextStatusLine } from './text_status'
import { lineEnds } from './text_changes'

/** Texts longer than this open read-only, in UTF-16 code units. */
const LARGE_TEXT = 1 << 20

const editable = (isEditable: boolean) => [
  EditorState.readOnly.of(!isEditable),
  EditorView.editable.of(isEditable),
]

export function mountTextEditor(options: MountOptions): MountedEditor {
  const { container, document: opened, name } = options
  const text = opened.doc.getText('text')
  const isLarge = text.length > LARGE_TEXT
  const access = new Compartment()
  const language = new LanguageSlot()
  const vim = new VimSlot()
  const undoManager = new Y.UndoManager(text, { trackedOrigins: new Set([CARRIED]) })
  const changed = new ChangedLinesSlot(options)
  const binding = new TextBinding(text, opened.awareness, undoManager)
  const bound = binding.open()
  const status = new TextStatusLine(name, EditorState.create({ doc: bound.doc }).doc, (view) =>
    changed.statusParts(view),
  )
  let unlocked = !isLarge
  let readOnly = options.readOnly

  const view = new EditorView({
    parent: container,
    state: EditorState.create({
      doc: bound.doc,
      extensions: [
        access.of(editable(unlocked && !readOnly)),
        bound.extensions,
        editingExtensions(),
        viewExtensions(t('Text of {name}', { name })),
        vim.extension(),
        language.extension(),
        status.extension(),
        changed.extension(),
      ],
    }),
  })
  status.mount(view, container)
  changed.start(view, () => status.refresh(view))
  void vim.load(view)
  const update = () =>
    view.dispatch({ effects: access.reconfigure(editable(unlocked && !readOnly)) })
  if (isLarge) {
    const megabytes = (text.length / (1 << 20)).toFixed(1)
    const notice = makeNotice(
      t('This file is large ({n} M characters): read-only.', { n: megabytes }),
      {
        label: t('Edit anyway'),
        run: () => {
          unlocked = true
          notice.remove()
          update()
          view.focus()
        },
      },
    )
    options.notices.append(notice)
  } else {
    void language.load(view, name)
  }
  return {
    focus: () => view.focus(),
    reveal: (line, column) => {
      revealLine(view, view.state.field(lineEnds).lineOf(line), column)
    },
    actions: () => changed.actions(view),
    symbols: () => language.loaded.then(() => symbolsOf(view)),
    rename: (newName) => {
      if (!isLarge) void language.load(view, newName)
      status.rename(newName, view)
    },
    setReadOnly: (value) => {
      readOnly = value
      update()
    },
    selection: () => {
      const { anchor, head } = view.state.selection.main
      const places = [anchor, head].map((at) => binding.placeOf(view.state, at))
      const { undoStack } = undoManager
      return { root: 'text', anchor: places[0]!, head: places[1]!, undoStack }
    },
    takeOver: (former, keys) => takeOver(view, binding, former, keys),
    destroy: () => {
      opened.awareness.setLocalStateField('cursor', null)
      changed.destroy()
      status.destroy()
      view.destroy()
      undoManager.destroy()
    },
  }
}

/** Selects what another editor had selected, and types what was held. */
function takeOver(
  view: EditorView,
  binding: TextBinding,
  former: SharedSelection,
  keys: HeldKey[],
): void {
  carryUndo(binding.undoManager, former, 'text')
  const carried = carrySelection(binding.text.doc!, former, 'text')
  if (carried !== null) {
    const [anchor, head] = [carried.anchor, carried.head].map((place) =>
      binding.positionOf(view.state, place),
    )
    if (anchor != null && head != null) {
      view.dispatch({ selection: { anchor, head }, scrollIntoView: true })
    }
  }
  for (const key of keys) {
    if (typeof key !== 'string') view.contentDOM.dispatchEvent(pressOf(key))
    else if (!view.state.readOnly) {
      view.dispatch(view.state.replaceSelection(key), { userEvent: 'input.type' })
    }
  }
}
