// A stock y-websocket client, as an editor embeds it, driven by a test over a pipe.
//
//   node slice-client.mjs ws://127.0.0.1:PORT/sync ROOM [NAME [TOKEN [query|protocol]]]
//
// Reads one JSON command a line from stdin and answers each with one JSON line on stdout:
//
//   {"do":"state"}                          what this client holds now
//   {"do":"insert","at":3,"text":"x"}       one edit; a negative `at` counts from the end
//   {"do":"delete","at":3,"len":1}
//   {"do":"type","text":"...","every_ms":20,"at":0}   types a character at a time from `at` on, and
//                                           keeps its place like a caret while others edit; answers
//                                           at once, `state.typing` ends when it is done
//   {"do":"wait","for":"synced","within_ms":5000}     also "disconnected", "typed", "closed", or
//   {"do":"wait","text":["a","b"],"within_ms":5000}   until the text holds all of these
//   {"do":"wait","others":["ben"],"within_ms":5000}   until these other users are seen, and no more
//   {"do":"wait","cursors":[3,null]}        until these are the cursors of the other users, by name
//   {"do":"point","at":3}                   shows a cursor
//   {"do":"disconnect"} {"do":"connect"}
//   {"do":"quit"}
//
// An answer is `{"ok": state}` or `{"error": text, "state": state}`.

import { createInterface } from 'node:readline'
import WebSocket from 'ws'
import * as Y from 'yjs'
import { WebsocketProvider } from 'y-websocket'
import { waitFor } from './wait.mjs'

const [server, room, name = 'client', token, how = 'query'] = process.argv.slice(2)
if (room === undefined) {
  process.stderr.write('usage: slice-client.mjs SERVER ROOM [NAME [TOKEN]]\n')
  process.exit(2)
}

const doc = new Y.Doc({ gc: false })
const text = doc.getText('text')
const provider = new WebsocketProvider(server, room, doc, {
  WebSocketPolyfill: WebSocket,
  disableBc: true, // Two clients in one process must meet at the server and nowhere else.
  maxBackoffTime: 300,
  params: token !== undefined && how === 'query' ? { token } : {},
  protocols: how === 'protocol' ? [`yfs-token.${token}`] : [],
})
provider.awareness.setLocalStateField('user', { name })

const closes = []
let nConnects = 0
provider.on('status', ({ status }) => {
  if (status === 'connected') nConnects += 1
})
provider.on('connection-close', (event) => closes.push(event?.code ?? null))

let typing = null

function state() {
  return {
    name,
    client: doc.clientID,
    text: text.toString(),
    synced: provider.synced,
    connected: provider.wsconnected,
    n_connects: nConnects,
    closes,
    typing: typing !== null,
    peers: provider.awareness.getStates().size - 1,
    others: others(),
  }
}

/** Returns the names and cursors of the other users. */
function others() {
  const states = [...provider.awareness.getStates()].filter(([id]) => id !== doc.clientID)
  const seen = states.map(([, state]) => ({ name: state.user?.name, cursor: cursorOf(state) }))
  return seen.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns where the cursor of a state is in this client's text. */
function cursorOf({ cursor }) {
  if (!cursor) return null
  const position = Y.createRelativePositionFromJSON(cursor.head)
  return Y.createAbsolutePositionFromRelativePosition(position, doc)?.index ?? null
}

/** Shows a cursor, as the bindings of editors do. */
function point({ at }) {
  const head = Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, clamp(at)))
  provider.awareness.setLocalStateField('cursor', { anchor: head, head })
}

const clamp = (at) => Math.max(0, Math.min(text.length, at < 0 ? text.length + 1 + at : at))

/** Types a character at a time, at a relative position, as an editor keeps a caret. */
function type({ text: typed, every_ms: everyMs, at = -1 }) {
  if (typing !== null) throw new Error('is typing already')
  const characters = [...typed]
  // Sticks to the character on its left, so that it moves along with what was typed last.
  let caret = Y.createRelativePositionFromTypeIndex(text, clamp(at), -1)
  typing = setInterval(() => {
    const character = characters.shift()
    if (character === undefined) {
      clearInterval(typing)
      typing = null
      return
    }
    const index = Y.createAbsolutePositionFromRelativePosition(caret, doc)?.index ?? text.length
    text.insert(index, character)
    caret = Y.createRelativePositionFromTypeIndex(text, index + character.length, -1)
  }, everyMs)
}

function condition(command) {
  if (command.text !== undefined) {
    return () => command.text.every((part) => text.toString().includes(part))
  }
  if (command.others !== undefined) {
    return () =>
      others()
        .map(({ name }) => name)
        .join() === command.others.join()
  }
  if (command.cursors !== undefined) {
    return () => JSON.stringify(others().map((it) => it.cursor)) === JSON.stringify(command.cursors)
  }
  switch (command.for) {
    case 'synced':
      return () => provider.wsconnected && provider.synced
    case 'disconnected':
      return () => !provider.wsconnected
    case 'closed':
      return () => closes.some((code) => code !== null)
    case 'typed':
      return () => typing === null
    default:
      throw new Error(`cannot wait for ${command.for}`)
  }
}

async function obey(command) {
  switch (command.do) {
    case 'state':
      break
    case 'insert':
      text.insert(clamp(command.at), command.text)
      break
    case 'delete':
      text.delete(clamp(command.at), command.len)
      break
    case 'type':
      type(command)
      break
    case 'point':
      point(command)
      break
    case 'wait':
      await waitFor(condition(command), command)
      break
    case 'disconnect':
      provider.disconnect()
      break
    case 'connect':
      provider.connect()
      break
    case 'quit':
      provider.destroy()
      process.exit(0)
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
provider.destroy()
process.exit(0)
