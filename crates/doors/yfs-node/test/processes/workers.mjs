// Ends worker threads that have calls in flight, round after round; `workers.test.mjs` runs it in a
// process of its own.
//
//   node workers.mjs KIND END ROUNDS FILE
//
// KIND is what the worker has in flight, END is how it ends: `terminate`, `exit`, or `return` with
// nothing awaited.

import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** How many calls of its kind a worker has in flight when it ends. */
const N_CALLS = 24

const [kind, end, rounds, file] = isMainThread ? process.argv.slice(2) : workerData

if (isMainThread) {
  // The main thread itself never loads the addon: the last worker that ends takes the runtime of
  // the addon with it.
  for (let round = 0; round < Number(rounds); round += 1) {
    const worker = new Worker(new URL(import.meta.url), { workerData: [kind, end, rounds, file] })
    const ended = once(worker, 'exit')
    const began = once(worker, 'message')
    await Promise.race([began, ended])
    if (end === 'terminate') await worker.terminate()
    await ended
  }
} else {
  const { Workspace } = await import('../../dist/index.js')
  const ws = await Workspace.open(file, { actor: 'agent:worker' })
  await ws.files.writeFile('/log.txt', 'line\n'.repeat(2_000))
  const { guid } = await ws.document('/log.txt')
  const calls = {
    read: () => ws.files.read('/log.txt'),
    write: (n) => ws.files.writeFile('/log.txt', `written ${n}\n`.repeat(2_000)),
    append: (n) => ws.files.appendFile('/log.txt', new Uint8Array(2_000).fill(65 + (n % 26))),
    grep: () => ws.files.grep('line', { root: '/' }),
    shell: (n) => ws.asIFileSystem().writeFile(`/shell-${n}.txt`, `written ${n}\n`),
    nodefs: (n) => ws.asNodeFs().promises.writeFile('/log.txt', `written ${n}\n`),
    watch: () => ws.watch().next(),
    port: async () => {
      const port = await ws.openPort(guid)
      port.on('update', () => undefined)
      await port.applyUpdate(await port.diff())
    },
    open: () => Workspace.open(file),
    history: () =>
      Promise.all([ws.versions('/log.txt'), ws.blame('/log.txt'), ws.trash(), ws.flush()]),
    stats: () => Promise.all([ws.files.stats('/log.txt'), ws.files.context()]),
    // Each is a process.
    query: async (n) => n < 3 && ws.files.query('/log.txt', '.', { format: 'csv' }),
    artifacts: (n) =>
      ws
        .artifacts({ sizeThreshold: 0 })
        .store(`result ${n}`, { threadId: 't', taskId: 'k', toolCallId: `${n}` }),
    close: () => ws.close(),
  }
  const kinds = kind === 'all' ? Object.keys(calls).filter((name) => name !== 'close') : [kind]
  for (let n = 0; n < N_CALLS; n += 1)
    for (const name of kinds) calls[name](n).catch(() => undefined)
  parentPort.postMessage('begun')
  if (end === 'exit') process.exit(0)
}
