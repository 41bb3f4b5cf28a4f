// Artifacts: results become files and references, which the `yfs` command resolves as well, and the
// other way round.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Artifacts, contextText, extractContext, resultOf, Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

const ids = (toolCallId, threadId = 't', taskId = 'k') => ({ threadId, taskId, toolCallId })

const ROWS = Array.from({ length: 1_000 }, (_, id) => ({ kind: 'gauge', id }))

const decode = (bytes) => Buffer.from(bytes).toString()

/** Returns the reference of a stored result. */
function referenceOf({ content }) {
  assert.ok('FileReference' in content, JSON.stringify(content).slice(0, 200))
  return content.FileReference.metadata
}

test('large results become files, and small ones stay', async (t) => {
  const ws = await inMemory(t)
  const artifacts = ws.artifacts({ preset: 'development' })
  assert.ok(artifacts instanceof Artifacts)
  const small = { level: 3 }
  const direct = await artifacts.store(small, ids('1'))
  assert.deepEqual(direct, { content: { Direct: { result: small } }, warning: null })
  assert.equal(direct.content.Direct.result, small)

  const stored = await artifacts.store(ROWS, ids('2'))
  const metadata = referenceOf(stored)
  assert.equal(stored.warning, null)
  assert.deepEqual(
    [metadata.file_id, metadata.relative_path, metadata.content_type, metadata.size],
    ['tool_call_2.json', 't/tool_call_2.json', 'application/json', JSON.stringify(ROWS).length],
  )
  assert.equal(metadata.stats.JsonArray.length, 1_000)
  assert.equal(await ws.files.readText('/artifacts/t/tool_call_2.json'), JSON.stringify(ROWS))
  assert.deepEqual(await artifacts.resolveValue(metadata), ROWS)
  assert.equal(decode(await artifacts.resolve(stored.content)), JSON.stringify(ROWS))
  assert.match(contextText(stored.content), /^FileRef\[tool_call_2\.json, 25\.3KB, "/)
  assert.equal(resultOf(stored.content).file, 't/tool_call_2.json')
  assert.equal(resultOf(direct.content), small)
  assert.equal(contextText(direct.content), '{"level":3}')
  assert.match(extractContext(metadata), /^JSON array: 1000 elements/)

  const text = 'calm '.repeat(4_000)
  assert.equal(
    await artifacts.resolveValue(referenceOf(await artifacts.store(text, ids('3')))),
    text,
  )
  const bytes = Buffer.alloc(20_000, Buffer.of(0, 255, 1))
  const binary = referenceOf(await artifacts.store(bytes, ids('4')))
  assert.ok(Buffer.from(await artifacts.resolve(binary)).equals(bytes))
  assert.ok('Binary' in binary.stats)
  assert.equal((await artifacts.storeFile('x', ids('5'))).size, 1)
  await artifacts.store(ROWS, ids('2'))
  const { nDirect, nStored, nDeduplicated, nResolved, savedTokens } = artifacts.metrics()
  assert.deepEqual([nDirect, nStored, nDeduplicated, nResolved], [1, 4, 1, 4])
  assert.ok(savedTokens > 10_000)
})

test('thresholds, presets and namespaces decide what becomes a file, and where', async (t) => {
  const ws = await inMemory(t)
  const isFile = async (options, result) =>
    'FileReference' in (await ws.artifacts(options).store(result, ids('1'))).content
  for (const [preset, size] of [
    ['development', 10],
    ['production', 50],
    ['high_memory', 100],
    ['highMemory', 100],
  ]) {
    assert.equal(await isFile({ preset }, 'a'.repeat(size << 10)), false, preset)
    assert.equal(await isFile({ preset }, 'a'.repeat((size << 10) + 1)), true, preset)
  }
  assert.equal(await isFile({}, 'a'.repeat((50 << 10) + 1)), true)
  assert.equal(await isFile({ sizeThreshold: 3 }, 'abc'), false)
  assert.equal(await isFile({ sizeThreshold: 3 }, 'abcd'), true)
  assert.equal(await isFile({ tokenThreshold: 100 }, 'a'.repeat(401)), true)
  const paths = []
  for (const namespace of ['thread_id', 'task_id', 'flat', 'runs', 'x/{tool_call_id}/{file_id}']) {
    const store = ws.artifacts({ namespace, root: '/kept' })
    paths.push((await store.storeFile('{}', ids('a/b', 'th', 'ta'))).relative_path)
  }
  assert.deepEqual(paths, [
    'th/tool_call_a%2Fb.json',
    'ta/tool_call_a%2Fb.json',
    'tool_call_a%2Fb.json',
    'runs/th/ta/tool_call_a%2Fb.json',
    'x/a%2Fb/tool_call_a%2Fb.json',
  ])
  const listed = await ws.artifacts({ root: '/kept' }).list()
  assert.deepEqual(listed.map(({ artifact }) => artifact).sort(), [...paths].sort())
})

test('what makes no sense is refused, and nothing is stored', async (t) => {
  const ws = await inMemory(t)
  const value = { code: 'ERR_INVALID_ARG_VALUE' }
  const type = { code: 'ERR_INVALID_ARG_TYPE' }
  for (const options of [
    { namespace: 'nonsense' },
    { preset: 'huge' },
    { threshold: 7 },
    { actor: 'robot' },
    { preview: { words: 3 } },
    { sizeThreshold: 1.5 },
  ])
    assert.throws(() => ws.artifacts(options), value, JSON.stringify(options))
  assert.throws(() => ws.artifacts({ sizeThreshold: '7' }), type)
  assert.throws(() => ws.artifacts({ sizeThreshold: -7 }), { code: 'ERR_OUT_OF_RANGE' })
  const artifacts = ws.artifacts({ sizeThreshold: 0 })
  for (const bad of [undefined, () => 1, Symbol('s')])
    await assert.rejects(artifacts.store(bad, ids('1')), type)
  await assert.rejects(artifacts.store(1n, ids('1')), TypeError)
  await assert.rejects(artifacts.store('x', { threadId: 't', taskId: 'k' }), type)
  await assert.rejects(artifacts.store('x', { ...ids('1'), call: '1' }), value)
  await assert.rejects(artifacts.store('x', ids('')), value)
  await assert.rejects(artifacts.store('x', ids('1', '')), value)
  const template = ws.artifacts({ sizeThreshold: 0, namespace: '{thread_id}/{nothing}/{file_id}' })
  await assert.rejects(template.store('x', ids('1')), value)
  for (const bad of [null, 'path', 7]) await assert.rejects(artifacts.resolve(bad), type)
  await assert.rejects(artifacts.resolve({ relative_path: 'x' }), value)
  assert.throws(() => extractContext({}), value)
  assert.throws(() => contextText({ Direct: 7 }), value)
  assert.equal(await ws.files.findSync('/artifacts', true), undefined)
})

test('references survive moves, edits and restarts, and say what is wrong', async (t) => {
  const file = temporary(t, 'w.db')
  let ws = await Workspace.open(file)
  let artifacts = ws.artifacts({ preset: 'development' })
  const metadata = referenceOf(await artifacts.store(ROWS, ids('1')))
  await ws.files.mv('/artifacts/t/tool_call_1.json', '/rows.json')
  await ws.files.edit('/rows.json', '"id":7}', '"id":700}')
  await ws.close()
  ws = await Workspace.open(file)
  t.after(() => ws.close())
  artifacts = ws.artifacts()
  assert.equal(await artifacts.pathNow(metadata), '/rows.json')
  assert.deepEqual(await artifacts.resolveValue(metadata), ROWS)
  const now = await artifacts.referenceAt('t/tool_call_1.json')
  assert.notEqual(now.checksum, metadata.checksum)
  assert.deepEqual(await artifacts.referenceAt('/rows.json'), now)

  const damaged = { ...metadata, checksum: '0'.repeat(64) }
  await assert.rejects(artifacts.resolve(damaged), { code: 'EIO', message: /BLAKE3/ })
  await artifacts.deleteFile(metadata)
  await assert.rejects(artifacts.resolve(metadata), { code: 'ENOENT', message: /trash/ })
  await assert.rejects(artifacts.referenceAt('t/tool_call_1.json'), { code: 'ENOENT' })
  const bad = { ...metadata, relative_path: '../etc' }
  await assert.rejects(artifacts.resolve(bad), { code: 'ERR_INVALID_ARG_VALUE' })
  const { nCorrupt, nMissing, nResolved } = artifacts.metrics()
  assert.deepEqual([nCorrupt, nMissing, nResolved], [1, 2, 1])
  const [trashed] = await ws.trash()
  await ws.restore(trashed.id)
  assert.deepEqual(await artifacts.resolveValue(metadata), ROWS)
})

test('the command resolves references from here, and the other way round', async (t) => {
  const folder = temporary(t, '')
  const ws = await Workspace.open(folder)
  t.after(() => ws.close())
  const yfs = (args, input = '') =>
    execFileSync(process.env.YFS_COMMAND, [...args, '--workspace', folder], { input })
  const artifacts = ws.artifacts({ preset: 'development' })
  const stored = await artifacts.store(ROWS, ids('1'))
  const file = temporary(t, 'reference.json')
  writeFileSync(file, JSON.stringify(stored.content))
  assert.deepEqual(JSON.parse(yfs(['artifact', 'get', '--reference', file])), ROWS)
  const shown = JSON.parse(yfs(['artifact', 'show', 't/tool_call_1.json', '--json']))
  assert.deepEqual(shown, referenceOf(stored))
  assert.deepEqual(await artifacts.referenceAt('t/tool_call_1.json'), shown)

  const put = ['artifact', 'put', '--thread', 't', '--task', 'k', '--call', '2', '--json']
  const there = JSON.parse(yfs(put, JSON.stringify(ROWS)))
  await ws.catchUp()
  assert.deepEqual(await artifacts.resolveValue(there), ROWS)
  const here = referenceOf(await artifacts.store(ROWS, ids('2')))
  assert.deepEqual(here, there.FileReference.metadata)
  assert.equal(artifacts.metrics().nDeduplicated, 1)

  // A process that is open has the times at which it applied the changes of others.
  const listed = ({ path, artifact, size, mime }) => ({ path, artifact, size, mime })
  const lines = yfs(['artifact', 'list', '--json']).toString().trim().split('\n')
  const printed = lines.map((line) => listed(JSON.parse(line)))
  const artifactsHere = await artifacts.list()
  assert.deepEqual(artifactsHere.map(listed), printed)
  assert.ok(artifactsHere.every(({ changedMs }) => changedMs > Date.UTC(2025, 0, 1)))

  const policy = { maxFiles: 1, dryRun: true }
  const { removed, freedBytes, failed, dryRun } = await artifacts.cleanUp(policy)
  const clean = ['artifact', 'clean', '--max-files', '1', '--dry-run', '--json']
  assert.deepEqual({ removed, freed_bytes: freedBytes, dry_run: dryRun }, JSON.parse(yfs(clean)))
  assert.deepEqual(failed, [])
})

test('a cleanup removes what its dry run reports, to the trash', async (t) => {
  const ws = await inMemory(t)
  const artifacts = ws.artifacts({ preset: 'development' })
  for (const [call, thread] of [
    ['1', 'a'],
    ['2', 'b'],
    ['3', 'b'],
  ])
    await artifacts.store(ROWS, ids(call, thread))
  assert.deepEqual((await artifacts.cleanUp({})).removed, [])
  assert.deepEqual((await artifacts.cleanUp({ maxAgeMs: 3_600_000 })).removed, [])
  const policy = { maxTotalBytes: 0, keptDirectories: ['a'] }
  const dry = await artifacts.cleanUp({ ...policy, dryRun: true })
  assert.equal((await artifacts.list()).length, 3)
  assert.deepEqual(
    dry.removed.map(({ path, reason }) => [path, reason]),
    [
      ['/artifacts/b/tool_call_2.json', 'size'],
      ['/artifacts/b/tool_call_3.json', 'size'],
    ],
  )
  assert.deepEqual(await artifacts.cleanUp(policy), { ...dry, dryRun: false })
  assert.equal(dry.freedBytes, 2 * JSON.stringify(ROWS).length)
  assert.deepEqual(
    (await artifacts.list('b/*', '*.json')).map(({ artifact }) => artifact),
    ['a/tool_call_1.json'],
  )
  assert.ok((await ws.trash()).length >= 2)
  await assert.rejects(artifacts.cleanUp({ olderThan: 1 }), { code: 'ERR_INVALID_ARG_VALUE' })
})

test('what cannot be written is kept in memory, with a warning', async (t) => {
  const file = temporary(t, 'w.db')
  await (await Workspace.open(file)).close()
  const ws = await Workspace.open(file, { readOnly: true })
  t.after(() => ws.close())
  const length = JSON.stringify(ROWS).length
  const artifacts = ws.artifacts({ preset: 'development', maxPendingBytes: length })
  const stored = await artifacts.store(ROWS, ids('1'))
  assert.match(stored.warning, /not in a file yet/)
  assert.deepEqual(await artifacts.resolveValue(stored.content), ROWS)
  assert.equal(artifacts.metrics().nPending, 1)
  // There is no room for another one, which stays a value.
  const second = await artifacts.store(ROWS, ids('2'))
  assert.ok(second.warning && 'Direct' in second.content)
  await assert.rejects(artifacts.writePending(), { code: 'EROFS' })
})

test('responses of tools are processed', async (t) => {
  const ws = await inMemory(t)
  const artifacts = ws.artifacts({ preset: 'development' })
  const response = (result) => ({
    tool_call_id: '7',
    tool_name: 'search',
    content: { Direct: { result } },
  })
  const small = await artifacts.process(response(1), 't', 'k')
  assert.deepEqual(small, { response: response(1), warning: null })
  const large = await artifacts.process(response(ROWS), 't', 'k')
  assert.equal(large.response.tool_name, 'search')
  assert.equal(referenceOf(large.response).relative_path, 't/tool_call_7.json')
  assert.deepEqual(await artifacts.process(large.response, 't', 'k'), large)
})

test('files are written on behalf of an actor', async (t) => {
  const ws = await inMemory(t, { actor: 'human:ada' })
  const artifacts = ws.artifacts({ actor: 'agent:crawler', label: 'crawl-1' })
  await artifacts.storeFile('one line\n', ids('1'))
  const [version] = await ws.versions('/artifacts/t/tool_call_1.txt')
  assert.deepEqual([version.actor, version.label], ['agent:crawler', 'crawl-1'])
})

for (const [page, directory, printed] of [
  ['artifacts.md', 'yfs-demo', /^FileRef\[tool_call_13\.json, 43\.6KB, "2000 elements/],
  ['guides/threads.md', '.', /^\/data\/levels\.json 1 1\n18 true\n$/],
])
  test(`the example of ${page} runs`, (t) => {
    const guide = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8')
    const [, code] = /```js\n([^]*?)```/.exec(guide)
    const folder = temporary(t, '')
    execFileSync(process.env.YFS_COMMAND, ['demo', '--quiet'], { cwd: folder })
    const program = join(folder, 'program.mjs')
    const entry = new URL('../dist/index.js', import.meta.url).href
    writeFileSync(program, code.replace("'yfs'", JSON.stringify(entry)) + 'await ws.close()\n')
    const options = { cwd: join(folder, directory), encoding: 'utf8' }
    assert.match(execFileSync(process.execPath, [program], options), printed)
  })

test('a closed workspace has no artifacts, and is closed while the store is held', async (t) => {
  const file = temporary(t, 'w.db')
  const ws = await Workspace.open(file)
  const artifacts = ws.artifacts()
  await artifacts.storeFile('x', ids('1'))
  await ws.close()
  const closed = { code: 'ERR_YFS_CLOSED' }
  await assert.rejects(artifacts.store('x', ids('1')), closed)
  await assert.rejects(artifacts.list(), closed)
  assert.throws(() => artifacts.metrics(), closed)
  assert.throws(() => ws.artifacts(), closed)
})
