// The server of y-websocket in memory, for the load benchmark, as its own `server.js` runs it.
// Prints its port.

import http from 'node:http'
import { setupWSConnection } from '@y/websocket-server/utils'
import WebSocket from 'ws'

const sockets = new WebSocket.Server({ noServer: true })
sockets.on('connection', setupWSConnection)
const server = http.createServer((_, response) => response.end('okay'))
server.on('upgrade', (request, socket, head) => {
  sockets.handleUpgrade(request, socket, head, (it) => sockets.emit('connection', it, request))
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
