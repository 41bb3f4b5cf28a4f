// Measures one edit between two processes of Node with other ways to carry Yjs from peer to peer.
//
//   node js_peers.mjs hyperswarm|y-webrtc EDITS IDLE_SECONDS
//
// Prints a row of the tables of peers.sh. Both find each other by servers of this process on
// loopback: a DHT of three nodes, or a signaling server. Needs the packages yjs, hyperswarm,
// hyperdht, y-webrtc, @roamhq/wrtc and ws below the current directory.
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(`${process.cwd()}/`)
const load = (name) => import(pathToFileURL(require.resolve(name)).href)
const [kind, edits, idle, role] = process.argv.slice(2)
const ROOM = 'yfs-bench'
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const now = () => Number(process.hrtime.bigint()) / 1e6

/** Returns where both processes find each other. */
async function startMeetingPoint() {
  if (kind === 'hyperswarm') {
    const { default: createTestnet } = await load('hyperdht/testnet.js')
    const testnet = await createTestnet(3)
    return JSON.stringify(testnet.bootstrap)
  }
  const { WebSocketServer } = require('ws')
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('message', (data) => {
      const message = JSON.parse(data)
      if (message.type === 'publish') sockets.forEach((other) => other.send(String(data)))
    })
  })
  await new Promise((resolve) => server.on('listening', resolve))
  return `ws://127.0.0.1:${server.address().port}`
}

/** Connects a document with that of the other process. */
async function connect(Y, doc, meetingPoint, role) {
  if (kind === 'y-webrtc') {
    globalThis.WebSocket ??= require('ws')
    const wrtc = require('@roamhq/wrtc')
    const { WebrtcProvider } = await load('y-webrtc')
    const options = { signaling: [meetingPoint], peerOpts: { wrtc, config: { iceServers: [] } } }
    new WebrtcProvider(ROOM, doc, options)
    return
  }
  const { default: Hyperswarm } = await load('hyperswarm')
  const swarm = new Hyperswarm({ bootstrap: JSON.parse(meetingPoint) })
  swarm.on('connection', (socket) => {
    socket.on('error', () => {})
    // The stream keeps no boundaries of messages.
    let rest = Buffer.alloc(0)
    const send = (update) => {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(update.length)
      socket.write(Buffer.concat([head, update]))
    }
    send(Y.encodeStateAsUpdate(doc))
    doc.on('update', (update, origin) => origin !== socket && send(update))
    socket.on('data', (data) => {
      rest = Buffer.concat([rest, data])
      while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
        const end = 4 + rest.readUInt32BE(0)
        Y.applyUpdate(doc, rest.subarray(4, end), socket)
        rest = rest.subarray(end)
      }
    })
  })
  const topic = createHash('sha256').update(ROOM).digest()
  const isServer = role === 'server'
  const discovery = swarm.join(topic, { server: isServer, client: !isServer })
  await (isServer ? discovery.flushed() : swarm.flush())
}

async function runPeer(meetingPoint, role) {
  const Y = await load('yjs')
  const doc = new Y.Doc()
  const text = doc.getText('text')
  text.observe(() => process.send({ seen: text.toString().slice(0, 12), at: now() }))
  process.on('message', ({ insert }) => {
    if (insert === undefined) {
      const { user, system } = process.cpuUsage()
      process.send({ cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() })
    } else {
      const at = now()
      text.insert(0, insert)
      process.send({ written: insert, at })
    }
  })
  await connect(Y, doc, meetingPoint, role)
  process.send({ ready: true })
}

function startPeer(meetingPoint, role) {
  const child = fork(process.argv[1], [kind, 'peer', meetingPoint, role])
  const messages = []
  child.on('message', (message) => messages.push(message))
  const wait = async (matches) => {
    for (;;) {
      const found = messages.find(matches)
      if (found) return found
      await sleep(1)
    }
  }
  return { child, messages, wait }
}

async function usage(peer) {
  peer.messages.length = 0
  peer.child.send({})
  return await peer.wait((message) => message.cpu !== undefined)
}

async function main() {
  const meetingPoint = await startMeetingPoint()
  const isReady = (message) => message.ready
  const from = startPeer(meetingPoint, 'server')
  await from.wait(isReady)
  const to = startPeer(meetingPoint, 'client')
  await to.wait(isReady)
  const delays = []
  // The first one arrives once they have connected.
  for (let n = 0; n <= Number(edits); n += 1) {
    const insert = `word ${String(n).padStart(6, '0')} `
    from.child.send({ insert })
    const written = await from.wait((message) => message.written === insert)
    const seen = await to.wait((message) => message.seen === insert)
    if (n > 0) delays.push(seen.at - written.at)
    await sleep(200)
  }
  delays.sort((a, b) => a - b)
  const at = (part) => delays[Math.min(delays.length - 1, Math.floor(part * delays.length))]
  const before = await Promise.all([from, to].map(usage))
  await sleep(Number(idle) * 1000)
  const after = await Promise.all([from, to].map(usage))
  const cpu = after.map(({ cpu }, n) => ((cpu - before[n].cpu) / Number(idle)) * 100)
  const memory = after.map(({ memory }) => memory / 2 ** 20)
  const columns = [
    `${kind}: an insert, to the other's observer`,
    at(0.5).toFixed(1),
    at(0.99).toFixed(1),
    `${Math.max(...cpu).toFixed(2)} %`,
    `${Math.max(...memory).toFixed(0)} MB`,
  ]
  console.log(`| ${columns.join(' | ')} |`)
  ;[from, to].forEach((peer) => peer.child.kill('SIGKILL'))
  process.exit(0)
}

if (edits === 'peer') await runPeer(idle, role)
else await main()
