// The examples of the package do what they say: as modules, and as programs.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runAgent, SCRIPT, scripted } from '../examples/agent.mjs'
import { commitAll, commits } from '../examples/git.mjs'
import { inMemory, temporary } from './support.mjs'

const program = (name) => fileURLToPath(new URL(`../examples/${name}.mjs`, import.meta.url))

test('an agent works in its shell while a user types', async (t) => {
  const ws = await inMemory(t, { actor: 'human:ada' })
  await ws.files.writeFile('/notes/plan.md', '# Plan\n\nTODO: listen\n\nTODO: answer\n')
  const typing = [...SCRIPT]
  typing[2] = async () => {
    // Between what the agent read and what it writes.
    await ws.files.edit('/notes/plan.md', '# Plan', '# The plan')
    return SCRIPT[2]
  }
  const said = await runAgent(ws, scripted(typing), 'Make a list of what is open')
  assert.equal(said, 'Made a list of what is open:\n/notes/plan.md\n2\n')
  assert.equal(
    await ws.files.readText('/notes/plan.md'),
    '# The plan\n\n- [ ] listen\n\n- [ ] answer\n',
  )
  assert.deepEqual(
    (await ws.blame('/notes/open.txt')).map((line) => line.actor),
    ['agent:writer'],
  )
})

test('a workspace is committed', async (t) => {
  const ws = await inMemory(t)
  const author = { name: 'Ada', email: 'ada@example.org' }
  await ws.files.writeFile('/docs/plan.md', '1. Listen\n')
  await ws.files.writeFile('/a.txt', 'a\n')
  const first = await commitAll(ws, 'Begin', author)
  assert.match(first, /^[0-9a-f]{40}$/)
  assert.equal(await commitAll(ws, 'Nothing', author), undefined)
  await ws.files.appendFile('/docs/plan.md', '2. Answer\n')
  await ws.files.rm('/a.txt')
  await commitAll(ws, 'Answer', author)
  assert.deepEqual(
    (await commits(ws)).map(({ message }) => message),
    ['Answer', 'Begin'],
  )
})

test('the examples run as programs', async (t) => {
  const file = temporary(t, 'notes.db')
  const run = (name, ...args) =>
    execFileSync(process.execPath, [program(name), file, ...args], { encoding: 'utf8' })
  assert.equal(run('agent'), 'Made a list of what is open:\n/notes/plan.md\n2\n\n')
  assert.match(run('git', 'Begin'), /^[0-9a-f]{40}\n[0-9a-f]{7} Begin\n$/)
  const server = spawn(process.execPath, [program('y-websocket-server'), file, '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill())
  const [output] = await once(server.stdout, 'data')
  const address = /http:\/\/[^/]+/.exec(output)[0]
  const document = await fetch(`${address}/document?path=/notes/plan.md`).then((response) =>
    response.json(),
  )
  assert.equal(document.root, 'richtext')
  assert.equal((await fetch(`${address}/document?path=/none`)).status, 404)
})
