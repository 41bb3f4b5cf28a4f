// One workspace directory, opened at once by two processes of Node, by the `yfs` command, and by
// `yfs serve` with editors.
//
// `YFS_COMMAND` says where the command is; `tests/tests/it/node_package.rs` builds it.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { promisify } from 'node:util'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { Workspace } from '../dist/index.js'
import { temporary } from './support.mjs'

const N_LINES = 20

/** A second process of Node: adds lines to a file, and writes one of its own. */
const OTHER = `
const { Workspace } = await import(process.argv[1])
const ws = await Workspace.open(process.argv[2], { actor: 'agent:other' })
for (let n = 0; n < ${N_LINES}; n += 1) await ws.files.appendFile('/log.txt', 'other ' + n + '\\n')
await ws.asNodeFs().promises.writeFile('/other.txt', 'from another process')
await ws.close()`

test('two processes of Node, the command, a server and an editor share a workspace', async (t) => {
  const command = process.env.YFS_COMMAND
  assert.ok(command, 'YFS_COMMAND must say where the yfs command is')
  const folder = temporary(t, '')
  const run = promisify(execFile)
  const yfs = async (...args) =>
    (await run(command, [...args, '--workspace', folder, '--actor', 'human:ada'])).stdout
  const ws = await Workspace.open(folder, { actor: 'agent:here' })
  t.after(() => ws.close())
  await ws.files.writeFile('/log.txt', 'begun\n')
  await ws.flush()
  assert.ok(existsSync(join(folder, '.yfs', 'workspace.db')))

  const server = spawn(command, ['serve', folder, '--port', '0', '--open', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill())
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  const { url, sync } = JSON.parse(line)
  const { guid } = await ws.document('/log.txt')
  const doc = new Y.Doc()
  const provider = new WebsocketProvider(sync.replace(/\/\{?guid\}?$/, ''), guid, doc, {
    WebSocketPolyfill: WebSocket,
    disableBc: true,
  })
  t.after(() => {
    provider.destroy()
    doc.destroy()
  })
  if (!provider.synced) await once(provider, 'sync')

  const watched = (async () => {
    for await (const { type, path } of ws.watch({ cursor: await ws.cursor() }))
      if (path === '/other.txt') return type
  })()
  const entry = new URL('../dist/index.js', import.meta.url).href
  const other = run(process.execPath, ['--input-type=module', '-e', OTHER, entry, folder])
  const text = doc.getText('text')
  for (let n = 0; n < N_LINES; n += 1) {
    await ws.files.appendFile('/log.txt', `here ${n}\n`)
    text.insert(0, `typed ${n}\n`)
    if (n % 5 === 0)
      await yfs('edit', '/log.txt', '--old', 'begun\n', '--new', `begun\ncommand ${n}\n`)
  }
  await other
  assert.equal(await watched, 'created')
  const names = ['here', 'other', 'typed']
  const expected = [
    ...names.flatMap((name) => Array.from({ length: N_LINES }, (_, n) => `${name} ${n}`)),
    'begun',
    'command 0',
    'command 5',
    'command 10',
    'command 15',
  ].sort()
  const linesOf = (content) => content.trim().split('\n').sort()

  // The editor is the last to receive the changes; then all of them have the same text.
  await new Promise((resolve) => {
    const look = () => {
      if (linesOf(text.toString()).length < expected.length) return
      text.unobserve(look)
      resolve()
    }
    text.observe(look)
    look()
  })
  assert.deepEqual(linesOf(text.toString()), expected)
  assert.deepEqual(linesOf(await yfs('cat', '/log.txt')), expected)
  assert.deepEqual(
    linesOf(await fetch(new URL('api/files/log.txt', url)).then((response) => response.text())),
    expected,
  )
  await ws.catchUp()
  assert.deepEqual(linesOf(await ws.files.readText('/log.txt')), expected)
  assert.equal(ws.asNodeFs().readFileSync('/other.txt', 'utf8'), 'from another process')
  assert.equal(await yfs('cat', '/other.txt'), 'from another process')

  // The server keeps the folder in step, and has done so when it has ended.
  provider.destroy()
  server.kill('SIGINT')
  await once(server, 'exit')
  assert.deepEqual(linesOf(readFileSync(join(folder, 'log.txt'), 'utf8')), expected)
  const actors = new Set((await ws.blame('/log.txt')).map(({ actor }) => actor))
  for (const actor of ['agent:here', 'agent:other', 'human:ada'])
    assert.ok(actors.has(actor), [...actors].join())
})
