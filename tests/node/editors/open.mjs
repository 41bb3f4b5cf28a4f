// Opens documents in live editors and reports what the editors wrote: `node open.mjs PROFILE
// MODEL`.
//
// PROFILE is commonmark or gfm, MODEL is the version of prosemirror-model: pinned or newest. Each
// line of stdin is `{id, update}`, the update in hexadecimal. Each line of stdout is about one of
// them: `{id, opened, typed, shown}`.
// - `opened`: what the editor wrote on opening, as XML before and after; null if nothing.
// - `typed`: the same after a letter was typed and deleted again; null if both are equal.
// - `shown`: the text that the editor shows.
// The last line is `{errors, versions}`: what editors complained of, and which ones ran.

import { readFileSync } from 'node:fs'
import { register } from 'node:module'
import { createInterface } from 'node:readline'

const [profile, model] = process.argv.slice(2)
if (model === 'newest') register('./newest-model.mjs', import.meta.url)

const Y = await import('yjs')
const { editorOf } = await import('./editors.mjs')
const openEditor = await editorOf(profile)

// How many are open at a time: all of them wait for timers together.
const BATCH = 64

const errors = []
console.error = (...words) => errors.push(words.map(String).join(' '))
// y-prosemirror restores the caret, but a document that begins with a list has no caret position
// there.
console.warn = () => {}

/** Lets editors finish what they put off: two frames, and a timer behind those. */
const settled = async () => {
  for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame)
  await new Promise((resolve) => setTimeout(resolve))
}

/** Returns a place inside a paragraph's text; null if there is none. */
function placeToType(doc) {
  let place = null
  doc.descendants((node, at, parent) => {
    // Not between the halves of one character.
    const isPlace =
      parent.type.name === 'paragraph' && node.isText && /^[\x20-\x7e]{2}/.test(node.text)
    if (place === null && isPlace) place = at + 1
    // A heading's id follows its text, and Milkdown aligns a cell without alignment left.
    return place === null && !['heading', 'table'].includes(node.type.name)
  })
  return place
}

async function open({ id, update }) {
  const doc = new Y.Doc({ gc: false })
  Y.applyUpdate(doc, Buffer.from(update, 'hex'))
  const fragment = doc.getXmlFragment('richtext')
  const before = fragment.toString()
  const updates = []
  doc.on('update', (update) => updates.push(update))
  return { id, doc, fragment, before, updates, editor: await openEditor(fragment) }
}

/** Types a letter and deletes it; returns the document before and after if they differ. */
function type({ fragment, before, editor: { view } }) {
  const place = placeToType(view.state.doc)
  if (place === null) return null
  view.dispatch(view.state.tr.insertText('x', place))
  if (fragment.toString() === before) return { before, after: 'the letter did not arrive' }
  view.dispatch(view.state.tr.delete(place, place + 1))
  const after = fragment.toString()
  return after === before ? null : { before, after }
}

async function inBatch(lines) {
  const opened = []
  for (const line of lines) opened.push(await open(JSON.parse(line)))
  await settled()
  for (const it of opened) {
    const { id, before, fragment, updates, editor } = it
    const wrote = updates.length > 0 ? { before, after: fragment.toString() } : null
    const shown = editor.view.state.doc.textContent
    const typed = type(it)
    console.log(JSON.stringify({ id, opened: wrote, shown, typed }))
  }
  await settled()
  for (const { editor } of opened) await editor.close()
}

const lines = []
for await (const line of createInterface({ input: process.stdin })) {
  lines.push(line)
  if (lines.length === BATCH) await inBatch(lines.splice(0))
}
await inBatch(lines)
const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version
const versions = {
  editor: version(profile === 'gfm' ? '@milkdown/core' : 'prosemirror-markdown'),
  model: version(model === 'newest' ? 'prosemirror-model-newest' : 'prosemirror-model'),
}
console.log(JSON.stringify({ errors, versions }))
process.exit(0)
