// A plain y-websocket server, in memory: the clients of these tests run against it before they test
// ours. Prints its port. Any command on stdin drops all sockets; the end of stdin ends it.

import { createInterface } from 'node:readline'
import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import { WebSocketServer } from 'ws'
import * as sync from 'y-protocols/sync'
import * as Y from 'yjs'

const SYNC = 0
const AWARENESS = 1

const rooms = new Map()

function roomOf(name) {
  if (!rooms.has(name)) {
    const room = { doc: new Y.Doc({ gc: false }), sockets: new Set() }
    room.doc.on('update', (update) => {
      const message = encoding.createEncoder()
      encoding.writeVarUint(message, SYNC)
      sync.writeUpdate(message, update)
      for (const socket of room.sockets) socket.send(encoding.toUint8Array(message))
    })
    rooms.set(name, room)
  }
  return rooms.get(name)
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
server.on('listening', () => process.stdout.write(`${server.address().port}\n`))
server.on('connection', (socket, request) => {
  const room = roomOf(request.url)
  room.sockets.add(socket)
  socket.on('close', () => room.sockets.delete(socket))
  socket.on('message', (data) => {
    const bytes = new Uint8Array(data)
    const message = decoding.createDecoder(bytes)
    const kind = decoding.readVarUint(message)
    if (kind === AWARENESS) {
      for (const other of room.sockets) other.send(bytes)
    } else if (kind === SYNC) {
      const reply = encoding.createEncoder()
      encoding.writeVarUint(reply, SYNC)
      sync.readSyncMessage(message, reply, room.doc, socket)
      if (encoding.length(reply) > 1) socket.send(encoding.toUint8Array(reply))
    }
  })
  const hello = encoding.createEncoder()
  encoding.writeVarUint(hello, SYNC)
  sync.writeSyncStep1(hello, room.doc)
  socket.send(encoding.toUint8Array(hello))
})

for await (const _line of createInterface({ input: process.stdin })) {
  for (const socket of server.clients) socket.terminate()
}
process.exit(0)
