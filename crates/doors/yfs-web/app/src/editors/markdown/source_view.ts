// The text of a markdown file as it is on disk, read-only. It is read from the server again after
// each change of the document: a second live representation would not merge.

import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { MountedEditor, MountOptions } from '../mounted_editor'
import { makeNotice } from '../notice'
import { LineEnds } from '../text/line_ends'
import { LanguageSlot, revealLine, viewExtensions } from '../text/setup'
import { readSource } from './read_source'

/** How long changes are collected before the text is read again. */
const REFRESH_MS = 300

export function mountSourceView(options: MountOptions): MountedEditor {
  const { container, document: opened, workspace } = options
  const language = new LanguageSlot()
  const view = new EditorView({
    parent: container,
    state: EditorState.create({
      extensions: [
        EditorState.readOnly.of(true),
        viewExtensions(`Source of ${options.name}`),
        language.extension(),
      ],
    }),
  })
  view.dom.classList.add('source-view')
  void language.load(view, options.name)
  let timer: ReturnType<typeof setTimeout> | undefined
  let pendingLine: [number, number | undefined] | null = null
  let ends = LineEnds.of('')
  let destroyed = false
  let isRead = false
  let failure: HTMLElement | null = null

  const show = (file: string) => {
    const shown = view.state.doc.toString()
    ends = LineEnds.of(file)
    const text = file.replace(/\r\n?/g, '\n')
    if (shown !== text) view.dispatch({ changes: leastChange(shown, text) })
    isRead = true
    if (pendingLine !== null) revealLine(view, ends.lineOf(pendingLine[0]), pendingLine[1])
    pendingLine = null
  }
  const refresh = async () => {
    try {
      const { text } = await readSource(workspace, options.path())
      failure?.remove()
      if (!destroyed) show(text)
    } catch (error) {
      if (destroyed || failure?.isConnected) return
      failure = makeNotice(`The source cannot be read now: ${(error as Error).message}`, {
        label: 'Try again',
        run: () => void refresh(),
      })
      options.notices.append(failure)
    }
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(() => void refresh(), REFRESH_MS)
  }
  opened.doc.on('update', schedule)
  const stopSaved = opened.savedState.subscribe((state) => {
    if (state === 'saved') schedule()
  })
  void refresh()
  return {
    focus: () => view.focus(),
    reveal: (line, column) => {
      if (isRead) revealLine(view, ends.lineOf(line), column)
      else pendingLine = [line, column]
    },
    rename: (name) => void language.load(view, name),
    setReadOnly: () => {},
    destroy: () => {
      destroyed = true
      clearTimeout(timer)
      stopSaved()
      opened.doc.off('update', schedule)
      failure?.remove()
      view.destroy()
    },
  }
}

/** Returns the change between two texts, so that scroll position and folds stay. */
function leastChange(from: string, to: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(from.length, to.length)
  let start = 0
  while (start < shorter && from[start] === to[start]) start++
  let end = 0
  while (end < shorter - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end++
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) }
}
