// Workspaces that are connected without a server: two in this process, and one in another process
// of Node.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { Workspace } from '../dist/index.js'
import { temporary } from './support.mjs'

const LOOPBACK = { listen: '127.0.0.1:0', lan: false }

/** How long a change may take, in milliseconds. Generous: the machine may be busy. */
const PATIENCE_MS = 120_000

/** Opens a workspace that is shared on loopback, and returns it with a ticket. */
async function shared(t, file = ':memory:', options = {}) {
  const ws = await Workspace.open(file)
  t.after(() => ws.close())
  await ws.peers.start(LOOPBACK)
  return { ws, ...(await ws.peers.share(options)) }
}

/** Joins with a ticket, and waits until both sides have everything. */
async function joined(t, ticket, file = ':memory:') {
  const ws = await Workspace.join(ticket, file)
  t.after(() => ws.close())
  await ws.peers.start(LOOPBACK)
  await eventOf(ws, 'inStep')
  return ws
}

/** Waits for an event of the connections. */
async function eventOf(ws, kind) {
  const events = ws.peers.events({ signal: AbortSignal.timeout(PATIENCE_MS) })
  for await (const event of events) if (event.kind === kind) return event
  throw new Error(`the connections ended without an event ${kind}`)
}

/** Waits until a file has a text. */
async function textIs(ws, path, text) {
  const watch = new AbortController()
  const late = setTimeout(() => watch.abort(), PATIENCE_MS)
  const changes = ws.watch({ signal: watch.signal })
  const read = () => ws.files.readText(path).catch(() => undefined)
  while ((await read()) !== text) {
    const { done } = await changes.next()
    assert.ok(!done, `${path} is not ${JSON.stringify(text)} in time`)
  }
  clearTimeout(late)
  watch.abort()
}

/** Waits until a peer is as a condition says. */
async function peerIs(ws, condition) {
  for (const begun = Date.now(); ;) {
    const list = await ws.peers.list()
    const found = list.find(condition)
    if (found !== undefined) return found
    assert.ok(Date.now() - begun < PATIENCE_MS, `no peer is so in time: ${JSON.stringify(list)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('two workspaces are in step, both ways', async (t) => {
  const { ws: here, ticket } = await shared(t, temporary(t, 'here.db'), { for: 'ben' })
  await here.files.writeFile('/plan.txt', 'one\n')
  const there = await joined(t, ticket, temporary(t, 'there.db'))
  assert.equal(there.id, here.id)
  await textIs(there, '/plan.txt', 'one\n')
  await there.files.appendFile('/plan.txt', 'two\n')
  await textIs(here, '/plan.txt', 'one\ntwo\n')
  await here.files.writeFile('/later.txt', 'three\n')
  await textIs(there, '/later.txt', 'three\n')

  const [ids, peer] = [await there.peers.id(), await peerIs(here, (peer) => peer.inStep)]
  assert.match(ids, /^[0-9a-f]{64}$/)
  assert.deepEqual(
    { id: peer.id, name: peer.name, rights: peer.rights, via: peer.via, error: peer.error },
    { id: ids, name: 'ben', rights: 'write', via: 'direct', error: null },
  )
  assert.ok(peer.bytesReceived > 100 && peer.lastSeenMs > 1_700_000_000_000)
  await here.peers.rename('ben', 'benedict')
  assert.equal((await here.peers.list())[0].name, 'benedict')

  // Stopped, both go on alone; started again, they meet.
  await there.peers.stop()
  assert.ok(!there.peers.isRunning && here.peers.isRunning)
  await peerIs(here, (peer) => !peer.connected)
  await there.files.writeFile('/offline.txt', 'four\n')
  await there.peers.start(LOOPBACK)
  await textIs(here, '/offline.txt', 'four\n')
})

test('a reader receives, and its changes stay with it', async (t) => {
  const { ws: here, ticket } = await shared(t, ':memory:', { readOnly: true })
  await here.files.writeFile('/plan.txt', 'one\n')
  const reader = await joined(t, ticket)
  await reader.files.writeFile('/own.txt', 'mine\n')
  await here.files.writeFile('/plan.txt', 'two\n')
  await textIs(reader, '/plan.txt', 'two\n')
  assert.equal(await here.files.exists('/own.txt'), false)
  assert.equal((await here.peers.list())[0].rights, 'read')
  await assert.rejects(reader.peers.share(), { code: 'ERR_YFS_NOT_OWNER' })
})

test('a blocked peer is disconnected', async (t) => {
  const { ws: here, ticket, id } = await shared(t)
  const there = await joined(t, ticket)
  const ended = eventOf(there, 'ended')
  assert.equal(await here.peers.block(id), true)
  const { kind, peer, reason } = await ended
  assert.deepEqual([kind, peer], ['ended', await here.peers.id()])
  assert.ok(reason.length > 0)
  const blocked = await peerIs(here, (peer) => !peer.connected)
  assert.ok(blocked.blocked)
  // Elsewhere a block is one of this store alone, and can be withdrawn.
  assert.equal(await there.peers.block(await here.peers.id()), false)
  await there.peers.unblock(await here.peers.id())
  await there.peers.forget(await here.peers.id())
  assert.deepEqual(await there.peers.list(), [])
})

/** Starts `yfs peer relay` on loopback, and returns its name. */
async function relay(t) {
  const command = process.env.YFS_COMMAND
  assert.ok(command, 'YFS_COMMAND must say where the yfs command is')
  const started = spawn(command, ['peer', 'relay', '--listen', '127.0.0.1:0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => started.kill())
  const [line] = await once(createInterface({ input: started.stdout }), 'line')
  return JSON.parse(line).listening
}

/** Returns another code with the same number. */
function wrong(code) {
  const words = code.endsWith('-amber-falcon') ? 'falcon-amber' : 'amber-falcon'
  return `${code.split('-')[0]}-${words}`
}

test('a code of words gives a ticket once, at an address', async (t) => {
  const { ws } = await shared(t)
  await ws.files.writeFile('/plan.txt', 'one\n')
  const { code, addresses, relays, expiresMs } = await ws.peers.share({ code: true, for: 'ben' })
  assert.match(code, /^[1-9][0-9]?-[a-z]+-[a-z]+$/)
  assert.ok(expiresMs > Date.now() && expiresMs <= Date.now() + 600_000)
  assert.deepEqual(relays, [])
  const at = addresses[0]
  // A file that exists costs no code.
  const taken = temporary(t, 'taken.db')
  await (await Workspace.open(taken)).close()
  await assert.rejects(Workspace.join(code, taken, { at }), { code: 'ERR_YFS_EXISTS' })
  const there = await Workspace.join(code, temporary(t, 'there.db'), { at })
  t.after(() => there.close())
  await there.peers.start(LOOPBACK)
  await textIs(there, '/plan.txt', 'one\n')
  assert.equal((await peerIs(ws, (peer) => peer.connected)).name, 'ben')
  await assert.rejects(Workspace.join(code, ':memory:', { at }), {
    code: 'ERR_YFS_CODE',
    message: /used already/,
  })
})

test('a code of words passes a relay, and wrong words end it', async (t) => {
  const name = await relay(t)
  const ws = await Workspace.open(':memory:')
  t.after(() => ws.close())
  await ws.peers.start({ ...LOOPBACK, relays: [name] })
  const { code, relays, relayFailures } = await ws.peers.share({ code: true })
  assert.match(code, /^[1-9][0-9]{3}-[a-z]+-[a-z]+$/)
  assert.deepEqual([relays, relayFailures], [[name], []])
  const by = { relay: name, lan: false }
  const there = await Workspace.join(code, ':memory:', by)
  t.after(() => there.close())
  assert.equal(there.id, ws.id)

  const { code: second } = await ws.peers.share({ code: true, codeForMs: 60_000 })
  await assert.rejects(Workspace.join(wrong(second), ':memory:', by), { code: 'ERR_YFS_CODE' })
  await assert.rejects(Workspace.join(second, ':memory:', by), (error) => {
    assert.equal(error.code, 'ERR_YFS_CODE')
    for (const word of second.split('-').slice(1)) assert.ok(!error.message.includes(word))
    return true
  })
  // Closing the workspace withdraws its codes.
  const { code: third } = await ws.peers.share({ code: true })
  await ws.close()
  for (const begun = Date.now(); ;) {
    const { code } = await Workspace.join(third, ':memory:', by).catch((error) => error)
    if (code === 'ERR_YFS_NO_CODE') break
    assert.equal(code, 'ERR_YFS_UNREACHABLE')
    assert.ok(Date.now() - begun < PATIENCE_MS, 'the code is still offered')
  }
})

test('a peer of a directory has it and nothing else', async (t) => {
  const { ws } = await shared(t, temporary(t, 'here.db'))
  await ws.files.mkdir('/docs')
  await ws.files.writeFile('/docs/plan.txt', 'one\n')
  await ws.files.writeFile('/secret.txt', 'secret\n')
  const { ticket, id } = await ws.peers.share({ path: '/docs', for: 'ben' })
  const there = await joined(t, ticket, temporary(t, 'there.db'))
  await textIs(there, '/plan.txt', 'one\n')
  assert.deepEqual(
    (await there.files.readdir('/')).map(({ name }) => name),
    ['plan.txt'],
  )
  await there.files.appendFile('/plan.txt', 'two\n')
  await textIs(ws, '/docs/plan.txt', 'one\ntwo\n')
  await ws.files.writeFile('/docs/later.txt', 'three\n')
  await textIs(there, '/later.txt', 'three\n')
  assert.equal((await peerIs(ws, (peer) => peer.path === '/docs' && peer.connected)).name, 'ben')
  await ws.peers.rename('ben', 'benedict')

  // The next start resumes the share, also after a rename of the directory.
  await ws.peers.stop()
  const [stopped] = await ws.peers.shares()
  assert.deepEqual([stopped.path, stopped.isRunning], ['/docs', false])
  await ws.files.mv('/docs', '/papers')
  await there.files.writeFile('/offline.txt', 'four\n')
  await ws.peers.start(LOOPBACK)
  await textIs(ws, '/papers/offline.txt', 'four\n')
  const [share] = await ws.peers.shares()
  assert.deepEqual([share.path, share.isRunning], ['/papers', true])
  assert.match(share.notice, /^\/papers is shared/)

  // A second ticket is for the same share.
  await ws.peers.share({ path: '/papers', readOnly: true })
  assert.equal((await ws.peers.shares()).length, 1)
  assert.equal(await ws.peers.block(id), true)
  const blocked = await peerIs(ws, (peer) => peer.path === '/papers' && peer.blocked)
  assert.equal(blocked.name, 'benedict')
  await ws.close()
})

test('a directory that cannot be shared is refused', async (t) => {
  const file = temporary(t, 'ws.db')
  const ws = await Workspace.open(file)
  t.after(() => ws.close())
  await ws.files.mkdir('/docs')
  await ws.files.writeFile('/plan.txt', 'one\n')
  await assert.rejects(ws.peers.share({ path: '/docs' }), { code: 'ERR_YFS_NOT_CONNECTED' })
  await ws.peers.start(LOOPBACK)
  await assert.rejects(ws.peers.share({ path: '/plan.txt' }), { code: 'ENOTDIR' })
  await assert.rejects(ws.peers.share({ path: '/none' }), { code: 'ENOENT' })
  await assert.rejects(ws.peers.share({ path: 1 }), { code: 'ERR_INVALID_ARG_TYPE' })
  assert.deepEqual(await ws.peers.shares(), [])
  assert.ok(!existsSync(join(dirname(file), 'shares')))

  const { ws: inMemory } = await shared(t)
  await inMemory.files.mkdir('/docs')
  await assert.rejects(inMemory.peers.share({ path: '/docs' }), { code: 'ERR_INVALID_ARG_VALUE' })
  assert.deepEqual(await inMemory.peers.shares(), [])

  const { ticket } = await ws.peers.share({ readOnly: true })
  const reader = await joined(t, ticket, temporary(t, 'reader.db'))
  await assert.rejects(reader.peers.share({ path: '/docs' }), {
    code: 'ERR_INVALID_ARG_VALUE',
    message: /may only read/,
  })
  // For reading, the reader can pass the directory on.
  const { ticket: second } = await reader.peers.share({ path: '/docs', readOnly: true })
  await ws.files.writeFile('/docs/a.txt', 'a\n')
  const third = await joined(t, second)
  await textIs(third, '/a.txt', 'a\n')
})

const OTHER = `
const { Workspace } = await import(process.argv[1])
const ws = await Workspace.join(process.argv[2], process.argv[3])
await ws.peers.start({ listen: '127.0.0.1:0', lan: false })
for await (const event of ws.peers.events()) if (event.kind === 'inStep') break
await ws.files.writeFile('/other.txt', await ws.files.readText('/plan.txt'))
console.log('written')
process.stdin.resume()
process.stdin.once('end', async () => {
  await ws.close()
  process.exit()
})`

test('another process of Node joins, and ends in order', async (t) => {
  const { ws, ticket } = await shared(t)
  await ws.files.writeFile('/plan.txt', 'one\n')
  const file = temporary(t, 'other.db')
  const module = new URL('../dist/index.js', import.meta.url).href
  const other = spawn(
    process.execPath,
    ['--input-type=module', '-e', OTHER, module, ticket, file],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  t.after(() => other.kill())
  await once(createInterface({ input: other.stdout }), 'line')
  await textIs(ws, '/other.txt', 'one\n')
  other.stdin.end()
  const [code] = await once(other, 'exit')
  assert.equal(code, 0)
  await peerIs(ws, (peer) => !peer.connected)
  assert.equal(statSync(`${file}-peer.key`).mode & 0o777, 0o600)
})

test('what makes no sense is refused, and changes nothing', async (t) => {
  const ws = await Workspace.open(temporary(t, 'ws.db'))
  t.after(() => ws.close())
  await assert.rejects(ws.peers.share(), { code: 'ERR_YFS_NOT_CONNECTED' })
  assert.throws(() => ws.peers.events(), { code: 'ERR_YFS_NOT_CONNECTED' })
  await assert.rejects(ws.peers.start({ port: 1 }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.peers.start({ listen: 'here' }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.peers.start({ relays: ['a b'] }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.peers.start({ relays: ['localhost'], noRelay: true }), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
  assert.deepEqual(await ws.peers.list(), [])
  assert.equal(ws.peers.isRunning, false)

  await ws.peers.start(LOOPBACK)
  await assert.rejects(ws.peers.start(LOOPBACK), { code: 'ERR_YFS_PEERS_RUNNING' })
  await assert.rejects(ws.peers.share({ readonly: true }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.peers.share({ for: 'x'.repeat(65) }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.peers.rename('nameless', 'ben'), { code: 'ERR_YFS_NO_PEER' })
  for (const options of [{ codeForMs: 1 }, { code: true, codeForMs: 3_600_001 }]) {
    await assert.rejects(ws.peers.share(options), { code: 'ERR_INVALID_ARG_VALUE' })
  }
  for (const [code, options] of [
    ['7-amber-falkon', {}],
    ['7-amber', {}],
    ['7-amber-falcon', { lan: false }],
    ['7-amber-falcon', { relay: 'a b' }],
  ]) {
    await assert.rejects(Workspace.join(code, ':memory:', options), {
      code: 'ERR_INVALID_ARG_VALUE',
    })
  }
  const { ticket } = await ws.peers.share()
  await assert.rejects(Workspace.join('yfspeer_x', ':memory:'), { code: 'ERR_YFS_TICKET' })
  for (const options of [{ create: true }, { at: '127.0.0.1:1' }, { relay: 'localhost' }]) {
    await assert.rejects(Workspace.join(ticket, ':memory:', options), {
      code: 'ERR_INVALID_ARG_VALUE',
    })
  }
  const taken = temporary(t, 'taken.db')
  await (await Workspace.open(taken)).close()
  await assert.rejects(Workspace.join(ticket, taken), { code: 'ERR_YFS_EXISTS' })
})

test('closing a workspace ends its connections and what waits for them', async (t) => {
  const file = temporary(t, 'ws.db')
  const { ws, ticket } = await shared(t, file)
  assert.ok(existsSync(join(dirname(file), 'peers.sock')))
  const there = await joined(t, ticket)
  const events = ws.peers.events()
  const rest = (async () => {
    const kinds = []
    for await (const { kind } of events) kinds.push(kind)
    return kinds
  })()
  await peerIs(ws, (peer) => peer.connected)
  await ws.close()
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, []).unref())
  assert.ok((await Promise.race([rest, late])).includes('connected'))
  await assert.rejects(ws.peers.list(), { code: 'ERR_YFS_CLOSED' })
  assert.ok(!existsSync(join(dirname(file), 'peers.sock')))
  await peerIs(there, (peer) => !peer.connected)
  // Without any peer there is no event that would end the waiting.
  const { ws: alone } = await shared(t)
  const stopping = new AbortController()
  const aborted = alone.peers.events({ signal: stopping.signal })
  setTimeout(() => stopping.abort(), 10)
  const drained = (async () => {
    let next
    do next = await aborted.next()
    while (!next.done)
    return 'ended'
  })()
  const tooLate = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'late').unref())
  assert.equal(await Promise.race([drained, tooLate]), 'ended')
})
