// Random edits of a text by an editor and by others: the shared text is always what the editor
// stands for, and the editor always shows the lines that the text has.

import {
  deleteCharBackward,
  deleteCharForward,
  deleteLine,
  insertNewline,
} from '@codemirror/commands'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { TextBinding } from '../src/editors/text/text_binding'
import { lineEnds } from '../src/editors/text/text_changes'

const PIECES = ['\r', '\n', '\r\n', '\u2028', '\0', '😀', 'a', 'é', '\t', '\ufeff']

/** A small generator of random numbers: mulberry32. */
function generator(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

type Random = ReturnType<typeof generator>

const randomText = (random: Random, length: number) =>
  Array.from({ length: random(length + 1) }, () => PIECES[random(PIECES.length)]!).join('')

/** Returns a place in a text that is not within a pair of surrogates. */
function randomPlace(random: Random, text: string): number {
  const place = random(text.length + 1)
  return /[\udc00-\udfff]/.test(text[place] ?? '') ? place - 1 : place
}

function editHere(view: EditorView, random: Random): void {
  const shown = view.state.doc.toString()
  const places = Array.from({ length: 2 + 2 * random(2) }, () => randomPlace(random, shown))
  const [from = 0, to = 0, second = 0, end = 0] = places.sort((a, b) => a - b)
  view.dispatch({ selection: { anchor: from, head: to } })
  const commands = [deleteCharBackward, deleteCharForward, deleteLine, insertNewline]
  const kind = random(8)
  if (kind < 4) commands[kind]!(view)
  else if (kind === 4 && places.length === 4) {
    const changes = [
      { from, to, insert: randomText(random, 2) },
      { from: second, to: end, insert: randomText(random, 2) },
    ]
    view.dispatch({ changes })
  } else view.dispatch(view.state.replaceSelection(randomText(random, 3)))
}

function editThere(text: Y.Text, random: Random): void {
  text.doc!.transact(() => {
    for (let n = 1 + random(3); n > 0; n--) {
      // A place within a line end or a pair of surrogates as well: others split both.
      const from = random(text.length + 1)
      const nDeleted = Math.min(random(3), text.length - from)
      if (nDeleted > 0) text.delete(from, nDeleted)
      if (random(8) === 0) text.insertEmbed(from, { image: 'x' })
      const insert = randomText(random, 2)
      if (insert !== '') text.insert(from, insert)
    }
  })
}

/** Returns the units of a text, in which an embedded object is one character. */
const unitsOf = (text: Y.Text) =>
  (text.toDelta() as { insert: unknown }[])
    .map(({ insert }) => (typeof insert === 'string' ? insert : '\ufffc'))
    .join('')

function problem(view: EditorView, text: Y.Text): string | null {
  const { doc } = view.state
  const ends = view.state.field(lineEnds)
  const file = unitsOf(text)
  const show = (value: unknown) => JSON.stringify(value)
  if (ends.textOf(doc, 0, doc.length) !== file) {
    return `${show(file)}, the editor stands for ${show(ends.textOf(doc, 0, doc.length))}`
  }
  const shown = doc.toString().split('\n')
  const lines = file.split(/\r\n?|\n/)
  if (show(shown) !== show(lines)) return `${show(file)}, the editor shows ${show(shown)}`
  for (let position = 0; position <= doc.length; position++) {
    const offset = ends.offsetOf(doc, position)
    const back = ends.positionOf(doc, offset)
    if (back.position !== position || back.isInEnd) return `${show(file)}: ${position}`
    if (ends.textOf(doc, 0, position) !== file.slice(0, offset)) return `${show(file)}: ${offset}`
  }
  return null
}

function copyUpdates(from: Y.Doc, to: Y.Doc): void {
  Y.applyUpdate(to, Y.encodeStateAsUpdate(from, Y.encodeStateVector(to)), 'others')
}

/** Plays one random story; returns what was wrong first. */
export function playRandomText(seed: number): string | null {
  const random = generator(seed)
  const [here, there] = [new Y.Doc({ gc: false }), new Y.Doc({ gc: false })]
  const text = here.getText('text')
  text.insert(0, randomText(random, 12))
  copyUpdates(here, there)
  const undoManager = new Y.UndoManager(text, { captureTimeout: 0 })
  const awareness = new Awareness(here)
  const bound = new TextBinding(text, awareness, undoManager).open()
  const state = EditorState.create({ doc: bound.doc, extensions: bound.extensions })
  const view = new EditorView({ state, parent: document.body })
  let found = problem(view, text)
  for (let step = 0; step < 30 && found === null; step++) {
    const kind = random(8)
    if (kind < 4) editHere(view, random)
    else if (kind < 6) editThere(there.getText('text'), random)
    else if (kind === 6) {
      copyUpdates(here, there)
      copyUpdates(there, here)
    } else if (random(2) === 0) undoManager.undo()
    else undoManager.redo()
    found = problem(view, text)
    if (found !== null) found = `seed ${seed}, step ${step}, kind ${kind}: ${found}`
  }
  view.destroy()
  undoManager.destroy()
  awareness.destroy()
  return found
}
