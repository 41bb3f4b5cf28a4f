// Undo by label, and the records of what agents did.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

test('the changes of a label are undone, and what others wrote stays', async (t) => {
  const ws = await inMemory(t, { actor: 'human:ana' })
  await ws.files.writeFile('/a.txt', 'one\ntwo\nthree\n')
  const agent = ws.filesFor('agent:p', 'run-7')
  await agent.edit('/a.txt', 'one', '1')
  await agent.edit('/a.txt', 'two', '2')
  await agent.writeFile('/new.txt', 'n')
  await ws.files.edit('/a.txt', 'three', 'three!')
  for (const [label, code] of [
    ['nope', 'ERR_YFS_NO_LABEL'],
    ['run-7', 'ERR_YFS_OTHER_ACTORS'],
  ])
    await assert.rejects(ws.undo(label), { code })
  assert.equal(await ws.files.readText('/a.txt'), '1\n2\nthree!\n')
  const undone = await ws.undo('run-7', { actor: 'agent:p' })
  const shown = undone.map(({ path, result, keptOthers }) => [path, result, keptOthers])
  assert.deepEqual(shown.sort(), [
    ['/a.txt', 'reverted', true],
    ['/new.txt', 'removed', false],
  ])
  assert.equal(await ws.files.readText('/a.txt'), 'one\ntwo\nthree!\n')
  assert.equal(ws.files.existsSync('/new.txt'), false)
  assert.deepEqual(await ws.undo('run-7', { actor: 'agent:p' }), [])
})

test('what agents did is listed', async (t) => {
  const folder = temporary(t, '')
  const ws = await Workspace.open(folder)
  t.after(() => ws.close())
  assert.deepEqual(await ws.audit(), { records: [], damaged: 0 })
  const args = ['tool', 'fs_write', '{"path": "/a", "content": "x"}', '--workspace', folder]
  execFileSync(process.env.YFS_COMMAND, [...args, '--actor', 'agent:p'])
  const { records, damaged } = await ws.audit({ actor: 'agent:p' })
  assert.equal(damaged, 0)
  const [call] = records.filter(({ tool, operation }) => tool === 'fs_write' && operation === null)
  assert.equal(call.result, 'done')
  assert.deepEqual(
    call.files.map(({ path }) => path),
    ['/a'],
  )
  assert.equal((await ws.audit({ path: '/a', failed: true })).records.length, 0)
  await assert.rejects(ws.audit({ nothing: 1 }), { code: 'ERR_INVALID_ARG_VALUE' })
})
