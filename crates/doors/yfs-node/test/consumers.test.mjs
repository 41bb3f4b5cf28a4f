// Tools made for memfs take a workspace as well: unionfs lays several filesystems over one another.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Union } from 'unionfs'
import { inMemory, temporary } from './support.mjs'

test('a workspace lies over a folder of the host', async (t) => {
  const file = temporary(t, 'host.txt')
  fs.writeFileSync(file, 'of the host')
  const folder = dirname(file)
  const ws = await inMemory(t)
  const ours = ws.asNodeFs()
  ours.mkdirSync(folder, { recursive: true })
  ours.writeFileSync(join(folder, 'shared.txt'), 'of the workspace')
  const union = new Union().use(fs).use(ours)
  assert.equal(union.readFileSync(file, 'utf8'), 'of the host')
  assert.equal(
    await union.promises.readFile(join(folder, 'shared.txt'), 'utf8'),
    'of the workspace',
  )
  assert.deepEqual(union.readdirSync(folder), ['host.txt', 'shared.txt'])
  assert.deepEqual(
    await new Promise((resolve) => union.readdir(folder, (error, names) => resolve(names))),
    ['host.txt', 'shared.txt'],
  )
  assert.equal(union.existsSync(join(folder, 'shared.txt')), true)
  assert.equal(union.statSync(join(folder, 'shared.txt')).size, 16)
  assert.throws(() => union.readFileSync(join(folder, 'none')), { code: 'ENOENT' })
  const stream = union.createReadStream(join(folder, 'shared.txt'))
  assert.equal(await text(stream), 'of the workspace')
  const watcher = union.watch(folder, {}, () => undefined)
  watcher.close()
})
