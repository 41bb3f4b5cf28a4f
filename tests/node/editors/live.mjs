// People who type in live editors that are bound to a server: `node live.mjs URL TOKEN`.
//
// URL is the server's, as ws://127.0.0.1:4680; TOKEN is sent to it, if it is not empty. Reads one
// JSON command a line from stdin and answers each with one JSON line, `{"ok": state}` or
// `{"error": text, "state": state}`:
//
//   {"do":"open","as":"a","guid":"..","editor":"codemirror","protocol":"websocket"}
//           editor: codemirror, prosemirror or milkdown; protocol: websocket or hocuspocus
//   {"do":"type","as":"a","behind":"text","text":"..","every_ms":30}
//           puts the caret behind a text and types from there, like a person: if the editor moves
//           the caret while others write, typing goes on there; answers at once
//   {"do":"wait","as":"a","for":"typed"}
//           also "text":[..], until the editor shows all of these
//   {"do":"state"}
//           of each editor: the shown text, the text before the caret, whether it types

import './dom.mjs'
import { createInterface } from 'node:readline'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider'
import { TextSelection } from 'prosemirror-state'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import { yCollab } from 'y-codemirror.next'
import * as Y from 'yjs'
import { editorOf } from './editors.mjs'

const [url, token] = process.argv.slice(2)
if (url === undefined) {
  process.stderr.write('usage: live.mjs URL [TOKEN]\n')
  process.exit(2)
}
const open = new Map()
let socket = null

console.warn = () => {}

/** Connects a document, and returns what tells whether it has what the server has. */
function connect(doc, guid, protocol) {
  if (protocol === 'websocket') {
    const provider = new WebsocketProvider(`${url}/sync`, guid, doc, {
      WebSocketPolyfill: WebSocket,
      disableBc: true,
      maxBackoffTime: 300,
      params: token ? { token } : {},
    })
    return { awareness: provider.awareness, synced: () => provider.wsconnected && provider.synced }
  }
  socket ??= new HocuspocusProviderWebsocket({
    url: `${url}/collab`,
    WebSocketPolyfill: WebSocket,
    delay: 100,
    minDelay: 100,
    maxDelay: 300,
  })
  const provider = new HocuspocusProvider({
    websocketProvider: socket,
    name: guid,
    document: doc,
    token: token || 'none',
  })
  provider.attach()
  return {
    awareness: provider.awareness,
    synced: () => provider.synced && provider.unsyncedChanges === 0,
  }
}

function codemirror(doc, awareness) {
  const text = doc.getText('text')
  // One that splits at CR as well counts CR LF as one.
  const extensions = [EditorState.lineSeparator.of('\n'), yCollab(text, awareness)]
  const state = EditorState.create({ doc: text.toString(), extensions })
  const view = new EditorView({ state, parent: document.body })
  return {
    shown: () => view.state.doc.toString(),
    before: () => view.state.sliceDoc(0, view.state.selection.main.head),
    place: (behind) => {
      const at = view.state.doc.toString().indexOf(behind)
      if (at < 0) throw new Error(`no ${behind} in ${view.state.doc}`)
      view.dispatch({ selection: { anchor: at + behind.length } })
    },
    type: (character) => {
      const { head } = view.state.selection.main
      const anchor = head + character.length
      view.dispatch({ changes: { from: head, insert: character }, selection: { anchor } })
    },
  }
}

function prosemirror({ view }) {
  const find = (behind) => {
    let found = null
    view.state.doc.descendants((node, at) => {
      const place = node.isText ? node.text.indexOf(behind) : -1
      if (found === null && place >= 0) found = at + place + behind.length
    })
    if (found === null) throw new Error(`no ${behind} in ${view.state.doc.textContent}`)
    return found
  }
  return {
    shown: () => view.state.doc.textBetween(0, view.state.doc.content.size, '\n', ' '),
    before: () => {
      const { $head } = view.state.selection
      return $head.parent.textBetween(0, $head.parentOffset, '', ' ')
    },
    place: (behind) => {
      const selection = TextSelection.create(view.state.doc, find(behind))
      view.dispatch(view.state.tr.setSelection(selection))
    },
    type: (character) => view.dispatch(view.state.tr.insertText(character)),
  }
}

async function until(condition, what) {
  const deadline = Date.now() + 600_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function openEditor({ as, guid, editor, protocol }) {
  const doc = new Y.Doc({ gc: false })
  const { awareness, synced } = connect(doc, guid, protocol)
  await until(synced, `${as} to be synced`)
  const kind = { prosemirror: 'commonmark', milkdown: 'gfm' }[editor]
  const it =
    kind === undefined
      ? codemirror(doc, awareness)
      : prosemirror(await (await editorOf(kind))(doc.getXmlFragment('richtext')))
  open.set(as, { ...it, synced, typing: null })
}

function type({ as, behind, text, every_ms: everyMs }) {
  const it = open.get(as)
  if (it.typing !== null) throw new Error('is typing already')
  it.place(behind)
  const characters = [...text]
  it.typing = setInterval(() => {
    const character = characters.shift()
    if (character !== undefined) return it.type(character)
    clearInterval(it.typing)
    it.typing = null
  }, everyMs)
}

async function obey(command) {
  const it = open.get(command.as)
  switch (command.do) {
    case 'open':
      return openEditor(command)
    case 'type':
      return type(command)
    case 'wait':
      if (command.for === 'typed')
        return until(() => it.typing === null && it.synced(), 'the end of typing')
      return until(() => command.text.every((part) => it.shown().includes(part)), command.text)
    case 'state':
      return
    default:
      throw new Error(`no command is named ${command.do}`)
  }
}

const state = () =>
  Object.fromEntries(
    [...open].map(([as, it]) => [
      as,
      { shown: it.shown(), before: it.before(), typing: it.typing !== null },
    ]),
  )

for await (const line of createInterface({ input: process.stdin })) {
  let answer
  try {
    await obey(JSON.parse(line))
    answer = { ok: state() }
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}`, state: state() }
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
process.exit(0)
