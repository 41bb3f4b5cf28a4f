// The text of a markdown file as it is on disk, to be read and edited.

import { Compartment, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { t } from '../../language/translate'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import { makeNotice } from '../notice'
import {
  editingExtensions,
  LanguageSlot,
  revealLine,
  symbolsOf,
  viewExtensions,
  VimSlot,
} from '../text/setup'
import { TextBinding } from '../text/text_binding'
import { lineEnds } from '../text/text_changes'
import { TextStatusLine } from '../text/text_status'
import { SourceSync } from './source_sync'

const editable = (isEditable: boolean) => [
  EditorState.readOnly.of(!isEditable),
  EditorView.editable.of(isEditable),
]

/** A source that is read-only if the editor of the tree cannot show all of the file. */
export interface SourceOptions extends MountOptions {
  isFixed?: boolean
}

/** Asks before the window closes while changes are on their way only. */
function guardWindow(sync: SourceSync): () => void {
  const onUnload = (event: BeforeUnloadEvent) => {
    if (sync.state.peek() === 'saved') return
    void sync.flush()
    event.preventDefault()
  }
  addEventListener('beforeunload', onUnload)
  return () => removeEventListener('beforeunload', onUnload)
}

/** The editor of a source, with its view. */
export interface SourceEditor extends MountedEditor {
  view: EditorView
}

export async function mountSourceView(options: SourceOptions): Promise<SourceEditor> {
  const { container, document: opened, workspace, id, path } = options
  const sync = new SourceSync({ workspace, id, path })
  await sync.load()
  const { text } = sync
  const undoManager = new Y.UndoManager(text, { trackedOrigins: new Set() })
  const awareness = new Awareness(text.doc!)
  const bound = new TextBinding(text, awareness, undoManager).open()
  const access = new Compartment()
  const status = new TextStatusLine(options.name, EditorState.create({ doc: bound.doc }).doc)
  const language = new LanguageSlot()
  const vim = new VimSlot()
  const accessOf = (readOnly: boolean) => editable(!readOnly && options.isFixed !== true)
  const view = new EditorView({
    parent: container,
    state: EditorState.create({
      doc: bound.doc,
      extensions: [
        access.of(accessOf(options.readOnly)),
        bound.extensions,
        editingExtensions(),
        viewExtensions(t('Source of {name}', { name: options.name })),
        vim.extension(),
        language.extension(),
        status.extension(),
        EditorView.domEventHandlers({ blur: () => void sync.flush() }),
      ],
    }),
  })
  view.dom.classList.add('source-view')
  status.mount(view, container)
  void vim.load(view)
  void language.load(view, options.name)
  const pull = () => sync.pull()
  opened.doc.on('update', pull)
  let notice: HTMLElement | null = null
  const stops = [
    guardWindow(sync),
    opened.savedState.subscribe((state) => {
      if (state === 'saved') pull()
    }),
    effect(() => {
      notice?.remove()
      const reason = sync.refusal.value
      if (reason === null) return
      notice = makeNotice(t('The server refuses what you typed: {reason}', { reason }), {
        label: t('Try again'),
        run: () => void sync.flush(),
      })
      options.notices.append(notice)
    }),
  ]
  return {
    view,
    savedState: sync.state,
    focus: () => view.focus(),
    reveal: (line, column) => revealLine(view, view.state.field(lineEnds).lineOf(line), column),
    symbols: () => language.loaded.then(() => symbolsOf(view)),
    rename: (name) => void language.load(view, name),
    setReadOnly: (value) => view.dispatch({ effects: access.reconfigure(accessOf(value)) }),
    destroy: () => {
      for (const stop of stops) stop()
      notice?.remove()
      opened.doc.off('update', pull)
      status.destroy()
      view.destroy()
      undoManager.destroy()
      awareness.destroy()
      sync.close()
    },
  }
}
