// A stock Hocuspocus provider, as an editor embeds it, driven by a test over a pipe: several
// documents over one socket.
//
//   node collab-client.mjs ws://127.0.0.1:PORT/collab [NAME]
//
// Reads one JSON command a line from stdin and answers each with one JSON line on stdout:
//
//   {"do":"open","as":"a","room":GUID,"shared":true,"token":"x"}
//                                           opens a document under the handle `a`; `shared` lets
//                                           one socket hold the same document more than once
//   {"do":"insert","as":"a","at":3,"text":"x"}         a negative `at` counts from the end
//   {"do":"garble","as":"a"}                sends what is not an update
//   {"do":"wait","as":"a","for":"saved"}    until the server has confirmed every change; also
//                                           "synced", "denied", "closed", {"peers":2},
//                                           {"text":["x"]}
//   {"do":"detach","as":"a"}
//   {"do":"disconnect"} {"do":"connect"}    the socket, with all its documents
//   {"do":"state"}                          what all documents hold
//
// An answer is `{"ok": state}` or `{"error": text, "state": state}`.

import { createInterface } from 'node:readline'
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider'
import * as encoding from 'lib0/encoding'
import WebSocket from 'ws'
import * as Y from 'yjs'
import { waitFor } from './wait.mjs'

const [url, name = 'client'] = process.argv.slice(2)
const socket = new HocuspocusProviderWebsocket({
  url,
  WebSocketPolyfill: WebSocket,
  delay: 100,
  minDelay: 100,
  maxDelay: 300,
})
let nConnects = 0
socket.on('connect', () => {
  nConnects += 1
})

const open = new Map()

function stateOf({ doc, provider, denied, closed }) {
  return {
    text: doc.getText('text').toString(),
    synced: provider.synced,
    scope: provider.authorizedScope ?? null,
    unsaved: provider.unsyncedChanges,
    peers: provider.awareness.getStates().size - 1,
    denied: denied(),
    closed: closed(),
  }
}

function state() {
  const documents = Object.fromEntries([...open].map(([as, it]) => [as, stateOf(it)]))
  return { name, n_connects: nConnects, documents }
}

function openDocument({ as, room, shared = false, token = 'none yet' }) {
  const doc = new Y.Doc({ gc: false })
  let [denied, closed] = [null, null]
  const provider = new HocuspocusProvider({
    websocketProvider: socket,
    name: room,
    document: doc,
    token,
    sessionAwareness: shared,
    onAuthenticationFailed: ({ reason }) => {
      denied = reason
    },
    onClose: ({ event }) => {
      closed = event.reason
    },
  })
  provider.attach()
  provider.awareness.setLocalStateField('user', { name })
  open.set(as, { doc, provider, denied: () => denied, closed: () => closed })
}

function garble({ provider }) {
  const message = encoding.createEncoder()
  encoding.writeVarString(message, provider.effectiveName)
  encoding.writeVarUint(message, 0)
  encoding.writeVarUint(message, 2)
  encoding.writeVarUint8Array(message, new Uint8Array([255, 255, 255]))
  socket.send(encoding.toUint8Array(message))
}

function condition(command) {
  const now = () => stateOf(open.get(command.as))
  if (command.text !== undefined) {
    return () => command.text.every((part) => now().text.includes(part))
  }
  if (command.peers !== undefined) return () => now().peers === command.peers
  switch (command.for) {
    case 'synced':
      return () => now().synced
    case 'saved':
      return () => now().synced && now().unsaved === 0
    case 'denied':
      return () => now().denied !== null
    case 'closed':
      return () => now().closed !== null
    default:
      throw new Error(`cannot wait for ${command.for}`)
  }
}

async function obey(command) {
  switch (command.do) {
    case 'state':
      break
    case 'open':
      openDocument(command)
      break
    case 'insert': {
      const text = open.get(command.as).doc.getText('text')
      text.insert(command.at < 0 ? text.length + 1 + command.at : command.at, command.text)
      break
    }
    case 'garble':
      garble(open.get(command.as))
      break
    case 'wait':
      await waitFor(condition(command), command)
      break
    case 'detach':
      open.get(command.as).provider.destroy()
      open.delete(command.as)
      break
    case 'disconnect':
      socket.disconnect()
      break
    case 'connect':
      socket.connect()
      break
    default:
      throw new Error(`no command is named ${command.do}`)
  }
}

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
