// When things begin and end: watching, closing, and shells that are made while another one runs.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { Bash, defineCommand } from 'just-bash'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

/** Returns the files below a path that this process has open; none on systems without `/proc`. */
function openBelow(path) {
  if (!existsSync('/proc/self/fd')) return []
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.filter((link) => link.startsWith(path))
}

test('watching begins with the call', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/before', 'x')
  const watching = ws.watch()
  await ws.files.writeFile('/after', 'x')
  let first
  const found = watching.next().then(({ value }) => (first = value))
  // A watch that begins late would see one of these first.
  for (let n = 0; first === undefined; n += 1) await ws.files.writeFile(`/later-${n}`, 'x')
  const value = await found
  assert.deepEqual([value.type, value.path], ['created', '/after'])
  await watching.return()
})

test('a watch that was aborted before it began ends', async (t) => {
  const ws = await inMemory(t)
  const watching = ws.watch({ signal: AbortSignal.abort() })
  assert.equal((await watching.next()).done, true)
})

test('what is closed has let go of its files, whatever was in flight', async (t) => {
  const file = temporary(t, 'w.db')
  for (let round = 0; round < 5; round += 1) {
    const ws = await Workspace.open(file)
    await ws.files.writeFile('/a.txt', 'text\n'.repeat(2_000))
    const port = await ws.openPort((await ws.document('/a.txt')).guid)
    port.on('update', () => undefined)
    const watching = ws.watch().next()
    const shell = ws.asIFileSystem()
    const calls = [
      watching,
      ...Array.from({ length: 20 }, (_, n) =>
        n % 2 ? ws.files.grep('t') : shell.appendFile('/a.txt', `${n}\n`),
      ),
    ]
    assert.notDeepEqual(openBelow(file), existsSync('/proc/self/fd') ? [] : undefined)
    const settled = Promise.allSettled(calls)
    await ws.close()
    assert.deepEqual(openBelow(file), [])
    await settled
    await ws.close()
  }
})

test('a command of a running script may lend the workspace anew', async (t) => {
  const ws = await inMemory(t)
  const inner = defineCommand(
    'inner',
    async () => {
      const fs = ws.asIFileSystem()
      await fs.writeFile('/from-shell', 'shell\n')
      await fs.writeFile('/from-shell', '')
      await fs.appendFile('/from-shell', 'again\n')
      const node = ws.asNodeFs()
      const fd = node.openSync('/from-node', 'w')
      node.writeSync(fd, 'node\n')
      node.closeSync(fd)
      const over = node.openSync('/from-node', 'w')
      node.writeSync(over, 'node again\n')
      node.closeSync(over)
      for await (const entry of ws.files.each('/')) assert.ok(entry.path)
      const opened = await Workspace.open(':memory:')
      await opened.close()
      return { stdout: 'made\n', stderr: '', exitCode: 0 }
    },
    { trusted: false },
  )
  const bash = new Bash({ fs: ws.asIFileSystem(), cwd: '/', customCommands: [inner] })
  const { stdout, stderr } = await bash.exec('inner; cat /from-shell /from-node')
  assert.deepEqual({ stdout, stderr }, { stdout: 'made\nagain\nnode again\n', stderr: '' })
})

test('each call that comes too late says that the workspace is closed', async (t) => {
  const ws = await Workspace.open(temporary(t, 'w.db'))
  // Large markdown takes a while, and one writer waits for the other.
  await ws.files.writeFile('/a.md', '- some words\n'.repeat(10_000))
  const waiting = Array.from({ length: 20 }, (_, n) => ws.files.appendFile('/a.md', `- ${n}\n`))
  const closed = ws.close()
  const late = Array.from({ length: 3 }, () => ws.files.appendFile('/a.md', '- late\n'))
  const ended = await Promise.allSettled([...waiting, ...late])
  const codes = ended.flatMap(({ reason }) => reason?.code ?? [])
  assert.deepEqual([...new Set(codes)], ['ERR_YFS_CLOSED'])
  await closed
})
