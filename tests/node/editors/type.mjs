// Lets people type in live editors while a file is written: `node type.mjs PROFILE`.
//
// PROFILE is commonmark or gfm. Each line of stdin is `{update, client, typing, then}`: a document
// (an update in hexadecimal), the client id of the writer, the typed texts as `[place, text]`, and
// the update that arrives after that, or null. A place is an index into the positions in text,
// modulo their number. Each line of stdout is about one of them: `{updates, shown, beforeCaret,
// afterwards}`.
// - `updates`: what typing sent.
// - `shown`: the text that the editor shows in the end.
// - `beforeCaret`: the text before the caret, in its block.
// - `afterwards`: what was sent when `then` had arrived.

import { createInterface } from 'node:readline'
import * as Y from 'yjs'
import { TextSelection } from 'prosemirror-state'
import { editorOf } from './editors.mjs'

const openEditor = await editorOf(process.argv[2])

// How many are open at a time: all of them wait for timers together.
const BATCH = 64

console.warn = () => {}
console.error = () => {}

const settled = async () => {
  for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame)
  await new Promise((resolve) => setTimeout(resolve))
}

/** Returns all places between two characters, or beside one. */
function placesOf(doc) {
  const places = []
  doc.descendants((node, at) => {
    if (node.isText) for (let n = 0; n <= node.nodeSize; n++) places.push(at + n)
  })
  return [...new Set(places)]
}

async function open(line) {
  const { update, client, typing, then } = JSON.parse(line)
  const doc = new Y.Doc({ gc: false })
  Y.applyUpdate(doc, Buffer.from(update, 'hex'))
  doc.clientID = client
  const updates = []
  doc.on('update', (update) => updates.push(Buffer.from(update).toString('hex')))
  const editor = await openEditor(doc.getXmlFragment('richtext'))
  return { doc, editor, updates, typing, then }
}

function type({ editor: { view } }, [place, text]) {
  const places = placesOf(view.state.doc)
  if (places.length === 0) return
  const at = places[place % places.length]
  const tr = view.state.tr.insertText(text, at)
  view.dispatch(tr.setSelection(TextSelection.create(tr.doc, at + text.length)))
}

/** Applies the update of another peer to an opened document. */
function applyRemoteUpdate(document) {
  if (document.then === null) return
  const n = document.updates.length
  Y.applyUpdate(document.doc, Buffer.from(document.then, 'hex'), 'remote')
  document.n = n + 1
}

async function inBatch(lines) {
  const opened = []
  for (const line of lines) opened.push(await open(line))
  await settled()
  for (const document of opened) {
    document.updates.length = 0
    for (const typed of document.typing) type(document, typed)
  }
  await settled()
  opened.forEach(applyRemoteUpdate)
  await settled()
  for (const { editor, updates, n, then } of opened) {
    const { doc, selection } = editor.view.state
    const { $head } = selection
    const beforeCaret = $head.parent.textBetween(0, $head.parentOffset, '', ' ')
    const sent = then === null ? updates : updates.slice(0, n - 1)
    const afterwards = then === null ? [] : updates.slice(n)
    console.log(JSON.stringify({ updates: sent, shown: doc.textContent, beforeCaret, afterwards }))
  }
  for (const { editor } of opened) await editor.close()
}

const lines = []
for await (const line of createInterface({ input: process.stdin })) {
  lines.push(line)
  if (lines.length === BATCH) await inBatch(lines.splice(0))
}
await inBatch(lines)
process.exit(0)
