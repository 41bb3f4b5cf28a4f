// A y-websocket server that serves a workspace: `node examples/y-websocket-server.mjs notes.db
// 4681`.
//
// The room of a file is the guid of its document: `GET /document?path=/notes.txt` tells that, and
// which root to bind to. Then any editor connects as to every other y-websocket server:
//
//     new WebsocketProvider('ws://127.0.0.1:4681', guid, doc)
//
// It is a hundred lines, for programs that have a server already. `yfs serve` has tokens, limits,
// presence that expires, and Hocuspocus.

import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import { WebSocketServer } from 'ws'
import { Workspace } from 'yfs'

const [SYNC, AWARENESS] = [0, 1]
const [STEP_1, STEP_2, UPDATE] = [0, 1, 2]

/** Serves a workspace; resolves to its address and how to end it. */
export async function serve(workspace, port = 0) {
  const http = createServer((request, response) => tellDocument(workspace, request, response))
  const sockets = new WebSocketServer({ server: http })
  const rooms = new Map()
  sockets.on('connection', (socket, request) => {
    const guid = decodeURIComponent(new URL(request.url, 'http://localhost').pathname.slice(1))
    join(workspace, rooms, socket, guid).catch((error) =>
      socket.close(4404, error.code ?? 'failed'),
    )
  })
  await new Promise((resolve) => http.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    for (const socket of sockets.clients) socket.terminate()
    sockets.close()
    await new Promise((resolve) => http.close(resolve))
  }
  return { address: `127.0.0.1:${http.address().port}`, close }
}

async function tellDocument(workspace, request, response) {
  const path = new URL(request.url, 'http://localhost').searchParams.get('path')
  try {
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(await workspace.document(path)))
  } catch (error) {
    response.statusCode = 404
    response.end(JSON.stringify({ error: error.message }))
  }
}

/** Takes a connection into the room of a document. */
async function join(workspace, rooms, socket, guid) {
  // What arrives before the document is open waits, and everything is taken in order.
  let turn = workspace.openPort(guid)
  // eslint-disable-next-line prefer-const -- the handler reads it before it is set
  let port
  socket.on('message', (data) => {
    turn = turn
      .then(() => receive(port, socket, others, new Uint8Array(data)))
      .catch(() => socket.close(4400, 'refused'))
  })
  const others = rooms.get(guid) ?? new Set()
  rooms.set(guid, others.add(socket))
  socket.on('close', () => {
    others.delete(socket)
    if (others.size === 0) rooms.delete(guid)
    port?.close()
  })
  port = await turn
  if (socket.readyState !== socket.OPEN) return port.close()
  // Who was too slow for single updates is sent everything: Yjs takes what it lacks.
  port.on('update', async (update) => send(socket, SYNC, UPDATE, update ?? (await port.diff())))
  send(socket, SYNC, STEP_1, await port.stateVector())
}

async function receive(port, socket, others, data) {
  const decoder = decoding.createDecoder(data)
  const kind = decoding.readVarUint(decoder)
  if (kind === AWARENESS) {
    for (const other of others) if (other !== socket) other.send(data)
  }
  if (kind !== SYNC) return
  const step = decoding.readVarUint(decoder)
  const payload = decoding.readVarUint8Array(decoder)
  if (step === STEP_1) send(socket, SYNC, STEP_2, await port.diff(payload))
  // It is in the log when this has resolved; each other client gets it from its own port.
  else await port.applyUpdate(payload)
}

function send(socket, kind, step, payload) {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, kind)
  encoding.writeVarUint(encoder, step)
  encoding.writeVarUint8Array(encoder, payload)
  socket.send(encoding.toUint8Array(encoder))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const workspace = await Workspace.open(process.argv[2] ?? ':memory:')
  const { address } = await serve(workspace, Number(process.argv[3] ?? 4681))
  console.log(`ws://${address}/GUID, http://${address}/document?path=/notes.txt`)
}
