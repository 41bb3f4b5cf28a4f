// Threads: what records say, uploads, isolation, and the life of a thread. The examples of document
// 000 are in `document-000.test.mjs`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

/** The beginning of a PNG of 1920 by 1080 pixels. */
const PNG_HEAD = Buffer.from('89504e470d0a1a0a0000000d4948445200000780000004380802000000', 'hex')

test('records say what the writer said, else what the content says', async (t) => {
  const state = await (await inMemory(t)).thread('thread-1')
  const image = await state.writeFile('/i', PNG_HEAD)
  assert.deepEqual([image.mimeType, image.width, image.height], ['image/png', 1920, 1080])
  await state.patchMetadata('/i', { alt: 'a dog', snake_case: { in_it: 1 } })
  const given = await state.writeFile('/i', PNG_HEAD.buffer, undefined, { by: 'me', alt: null })
  assert.deepEqual(given.metadata, { by: 'me', snake_case: { in_it: 1 } })
  const away = await state.linkFile('/away', { url: 'https://example.com/a.png', size: 5 })
  assert.deepEqual(
    [away.storage, away.size, away.mimeType, away.metadata],
    ['https://example.com/a.png', 5, 'application/octet-stream', {}],
  )
  assert.equal(await state.readFile('/away'), null)
  for (const url of ['file:///etc/passwd', 'nothing'])
    await assert.rejects(() => state.linkFile('/x', { url }), { code: 'ERR_INVALID_ARG_VALUE' })
  const reserved = { 'yfs.external': 1 }
  await assert.rejects(() => state.writeFile('/x', '', undefined, reserved), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
  assert.equal(await state.statFile('/x'), null)
})

test('uploads are streamed', async (t) => {
  const state = await (await inMemory(t)).thread('thread-1')
  async function* source() {
    for (let at = 0; at < 40; at++) yield Buffer.alloc(1 << 20, at)
  }
  const record = await state.writeFileStream('/big.bin', source(), undefined, { from: 'test' })
  assert.deepEqual([record.size, record.metadata], [40 << 20, { from: 'test' }])
  const web = new Response('from the web').body
  assert.equal((await state.writeFileStream('/web.txt', web)).size, 12)
  const failing = (async function* () {
    yield 'some'
    throw new Error('cut')
  })()
  await assert.rejects(() => state.writeFileStream('/none', failing), /cut/)
  assert.equal(await state.statFile('/none'), null)
})

test('a thread survives processes and sees nothing of another', async (t) => {
  const file = temporary(t, 'threads.db')
  let ws = await Workspace.open(file)
  await (await ws.thread('a')).writeFile('/secret', 'needle')
  await ws.close()
  ws = await Workspace.open(file)
  t.after(() => ws.close())
  const [a, b] = [await ws.thread('a'), await ws.thread('b')]
  assert.equal(Buffer.from(await a.readFile('secret')).toString(), 'needle')
  const { id } = await ws.files.stat('/threads/a/secret')
  for (const path of [
    '/secret',
    '../a/secret',
    '/threads/a/secret',
    `/.id/${id}`,
    '/../../a/secret',
  ]) {
    assert.equal(await b.readFile(path), null, path)
    await ws.files.symlink(path, '/threads/b/link')
    assert.equal(await b.readFile('/link'), null, path)
    await b.unlinkFile('/link')
  }
  assert.deepEqual(await b.grepFiles('needle'), [])
  assert.deepEqual(await b.findFiles('**'), { paths: [] })
  for (const bad of ['', '.', '..', 'a/b', '*', '?', '\n'])
    await assert.rejects(() => ws.thread(bad), { code: 'ERR_INVALID_ARG_VALUE' })
})

test('a search names the files that it did not search because they are not text', async (t) => {
  const ws = await inMemory(t)
  const state = await ws.thread('pictures')
  await state.writeFile('/notes.txt', 'a needle\n')
  await state.writeFile('/b/two.png', new Uint8Array([0, 1, 2]))
  await state.writeFile('/a/one.png', new Uint8Array([0, 1, 2]))
  const found = await state.grepFiles('needle')
  assert.deepEqual(found, [{ path: '/notes.txt', matches: [{ line: 1, content: 'a needle' }] }])
  assert.equal(found.binary, 2)
  assert.deepEqual(found.binaryPaths, ['/a/one.png', '/b/two.png'])
  const none = await state.grepFiles('nothing', { include: ['*.txt'] })
  assert.deepEqual([none.length, none.binary, none.binaryPaths], [0, 0, []])
})

test('threads are listed, forked, archived, deleted and expired', async (t) => {
  const ws = await inMemory(t)
  const threads = ws.threads({ actor: 'agent:keeper' })
  const one = await threads.create('one')
  await assert.rejects(() => threads.create('one'), { code: 'ERR_YFS_THREAD_EXISTS' })
  await assert.rejects(() => threads.existing('none'), { code: 'ERR_YFS_NO_THREAD' })
  await one.writeFile('/f', 'x'.repeat(100))
  const two = await threads.fork('one', 'two')
  await two.writeFile('/f', 'changed')
  assert.equal((await one.readFile('/f')).length, 100)
  assert.deepEqual(
    (await threads.list()).map((info) => [info.id, info.forkedFrom, info.totalSize]),
    [
      ['one', null, 100],
      ['two', 'one', 7],
    ],
  )
  await threads.archive('one')
  await assert.rejects(() => one.writeFile('/f', 'y'), { code: 'EROFS' })
  assert.deepEqual(
    (await threads.list()).map((info) => info.id),
    ['two'],
  )
  await threads.unarchive('one')
  const dry = await threads.prune({ maxBytes: 10, dryRun: true })
  assert.deepEqual(
    dry.removed.map((info) => [info.id, info.reason]),
    [['one', 'size']],
  )
  assert.deepEqual(await threads.prune({ maxBytes: 10 }), dry)
  await threads.delete('two')
  assert.deepEqual(await threads.list({ archived: true }), [])
  assert.equal(await two.readFile('/f'), null)
  assert.equal((await (await threads.restore('two')).readFile('/f')).length, 7)
  const custom = ws.threads({ namespace: '{agent}/{thread_id}' })
  const nested = await custom.openFor({ agent: 'a', thread_id: 't' })
  assert.equal(nested.id, 'a/t')
})

test('a closed workspace ends streams', async (t) => {
  const ws = await Workspace.open(temporary(t, 'closing.db'))
  const state = await ws.thread('t')
  await state.writeFile('/f', Buffer.alloc(1 << 20, 1))
  const stream = await state.readFileStream('/f')
  const chunks = stream[Symbol.asyncIterator]()
  assert.equal((await chunks.next()).value.index, 0)
  await ws.close()
  await assert.rejects(() => chunks.next(), { code: 'ERR_YFS_CLOSED' })
  await assert.rejects(() => state.readFile('/f'), { code: 'ERR_YFS_CLOSED' })
})
