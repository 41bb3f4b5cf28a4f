// Documents of a workspace and stock Yjs providers: y-websocket, y-indexeddb, the main document.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import 'fake-indexeddb/auto'
import WebSocket from 'ws'
import { IndexeddbPersistence } from 'y-indexeddb'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { bind } from '../dist/yjs.js'
import { serve } from '../examples/y-websocket-server.mjs'
import { inMemory } from './support.mjs'

/** Serves a workspace, and returns how to connect to a document of it. */
async function served(t, ws) {
  const { address, close } = await serve(ws)
  t.after(close)
  return (guid, doc) => {
    const provider = new WebsocketProvider(`ws://${address}`, guid, doc, {
      WebSocketPolyfill: WebSocket,
      disableBc: true,
    })
    t.after(() => {
      provider.destroy()
      // Its awareness has a timer, which ends with the document.
      doc.destroy()
    })
    return provider
  }
}

const isSynced = (provider) =>
  provider.synced ? undefined : new Promise((resolve) => provider.once('sync', resolve))

/** Resolves when a text has the expected content. */
function waitForText(text, expected) {
  if (text.toString() === expected) return undefined
  return new Promise((resolve) => {
    const look = () => {
      if (text.toString() !== expected) return
      text.unobserve(look)
      resolve()
    }
    text.observe(look)
  })
}

test('editors, agents and another workspace meet over y-websocket', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'hello')
  const connect = await served(t, ws)
  const { guid } = await ws.document('/a.txt')
  const [one, other] = [new Y.Doc(), new Y.Doc()]
  const providers = [connect(guid, one), connect(guid, other)]
  await Promise.all(providers.map(isSynced))
  await Promise.all([one, other].map((doc) => waitForText(doc.getText('text'), 'hello')))

  one.getText('text').insert(5, ' world')
  await waitForText(other.getText('text'), 'hello world')
  assert.equal(await ws.files.readText('/a.txt'), 'hello world')
  await ws.filesFor('agent:bot').edit('/a.txt', 'hello', 'Hello')
  await Promise.all([one, other].map((doc) => waitForText(doc.getText('text'), 'Hello world')))

  const present = new Promise((resolve) => providers[1].awareness.once('change', resolve))
  providers[0].awareness.setLocalStateField('user', { name: 'Ada' })
  await present
  assert.ok(
    [...providers[1].awareness.getStates().values()].some((state) => state.user?.name === 'Ada'),
  )

  // The same document, bound to a workspace of its own as well.
  const elsewhere = await inMemory(t)
  await elsewhere.files.writeFile('/copy.txt', '')
  const bridge = new Y.Doc()
  const binding = await bind(elsewhere, (await elsewhere.document('/copy.txt')).guid, bridge)
  await isSynced(connect(guid, bridge))
  await waitForText(bridge.getText('text'), 'Hello world')
  await binding.settled()
  assert.equal(await elsewhere.files.readText('/copy.txt'), 'Hello world')
  const received = waitForText(one.getText('text'), 'Hello world!')
  await elsewhere.files.appendFile('/copy.txt', '!')
  await received
  assert.equal(await ws.files.readText('/a.txt'), 'Hello world!')
  await binding.close()
})

test('the main document is bound like any other', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/docs/plan.md', '# Plan\n')
  const connect = await served(t, ws)
  const doc = new Y.Doc()
  await isSynced(connect(ws.id, doc))
  const rows = doc.getArray('table:files')
  const names = () => rows.toArray().map(({ val }) => val?.name)
  assert.ok(names().includes('plan.md'), JSON.stringify(rows.toArray()))
  const received = new Promise((resolve) =>
    rows.observe(() => names().includes('new.txt') && resolve()),
  )
  await ws.files.writeFile('/docs/new.txt', 'x')
  await received
})

test('a document that is not there is not served', async (t) => {
  const ws = await inMemory(t)
  const { address, close } = await serve(ws)
  t.after(close)
  const socket = new WebSocket(`ws://${address}/never-seen`)
  const code = await new Promise((resolve) => socket.on('close', resolve))
  assert.equal(code, 4404)
})

test('what was typed offline is in the workspace once it is bound', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'begun')
  const { guid } = await ws.document('/a.txt')
  const online = new Y.Doc()
  const stored = new IndexeddbPersistence(guid, online)
  await stored.whenSynced
  const first = await bind(ws, guid, online)
  await first.close()
  await stored.destroy()

  const offline = new Y.Doc()
  const again = new IndexeddbPersistence(guid, offline)
  await again.whenSynced
  assert.equal(offline.getText('text').toString(), 'begun')
  offline.getText('text').insert(5, ' offline')
  await ws.files.writeFile('/a.txt', 'Begun')
  const second = await bind(ws, guid, offline)
  await second.settled()
  assert.equal(await ws.files.readText('/a.txt'), 'Begun offline')
  assert.equal(offline.getText('text').toString(), 'Begun offline')
  await second.close()
  await again.destroy()
})
