// A Hocuspocus server in memory, for the load benchmark. Prints its port.

import { Server } from '@hocuspocus/server'

const server = new Server({ port: 0, address: '127.0.0.1', quiet: true, stopOnSignals: false })
await server.listen()
process.stdout.write(`${server.httpServer.address().port}\n`)
