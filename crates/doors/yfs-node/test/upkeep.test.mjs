// The rest of a workspace in JavaScript: cursors that outlive it, import and export, erasing,
// moving, memory.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import * as Y from 'yjs'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

test('a cursor outlives the workspace that gave it', async (t) => {
  const file = temporary(t, 'watched.db')
  const first = await Workspace.open(file)
  await first.files.writeFile('/before', 'x')
  const seen = []
  let cursor = await first.cursor()
  await first.files.writeFile('/a', '1')
  await first.files.writeFile('/b', '2')
  for await (const change of first.watch({ cursor })) {
    seen.push(change.path)
    cursor = change.cursor
    if (change.path === '/b') break
  }
  await first.files.writeFile('/c', '3')
  await first.close()
  const again = await Workspace.open(file)
  t.after(() => again.close())
  await again.files.mv('/c', '/d')
  for await (const change of again.watch({ cursor })) {
    seen.push(change.path)
    if (change.path === '/d') break
  }
  assert.ok(seen.includes('/a') && seen.includes('/d') && !seen.includes('/before'), seen.join())
  await assert.rejects(again.watch({ cursor: 'nonsense' }).next(), {
    code: 'ESTALE',
    cursorLost: true,
  })
})

test('watching ends with its signal, and with the workspace', async () => {
  const ws = await Workspace.open(':memory:')
  const stop = new AbortController()
  const next = ws.watch({ signal: stop.signal }).next()
  stop.abort()
  assert.equal((await next).done, true)
  const waiting = ws.watch({ cursor: await ws.cursor() }).next()
  const closed = ws.close()
  assert.equal((await waiting).done, true)
  await closed
})

test('errors say what was attempted on what', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a', 'x')
  await ws.files.mkdir('/d')
  const failure = await ws.files.mv('/a', '/d').catch((error) => error)
  const { code, errno, syscall, path, dest, message } = failure
  assert.deepEqual(
    { code, errno, syscall, path, dest },
    { code: 'EISDIR', errno: -21, syscall: 'rename', path: '/a', dest: '/d' },
  )
  assert.equal(message, "EISDIR: is a directory, rename '/a' -> '/d'")
  await assert.rejects(
    ws.files.edit('/a', 'nothing', 'x'),
    ({ code, cause }) => code === 'EINVAL' && /not/.test(cause.message),
  )
  await assert.rejects(ws.files.writeFile('/a', 'y', { expectedVersion: '0' }), { code: 'ESTALE' })
  await assert.rejects(ws.resolveAnchor('nonsense'), (error) => error.code.startsWith('ERR_YFS'))
  await assert.rejects(
    Workspace.open(join(temporary(t, 'x'), 'no', 'where.db')),
    (error) => typeof error.code === 'string',
  )
  await assert.rejects(
    Workspace.open(temporary(t, 'none.db'), { create: false }),
    (error) => typeof error.code === 'string',
  )
  await assert.rejects(Workspace.open(':memory:', { actor: 'no actor at all' }), {
    code: 'ERR_INVALID_ARG_VALUE',
  })
})

test('folders are brought in and written out', async (t) => {
  const folder = temporary(t, 'in')
  mkdirSync(join(folder, 'sub'), { recursive: true })
  writeFileSync(join(folder, 'a.txt'), 'a')
  writeFileSync(join(folder, 'sub', 'b.bin'), Buffer.from([0, 255]))
  const ws = await inMemory(t)
  const { created, directories, bytes } = await ws.import(folder, '/imported')
  assert.deepEqual({ created, directories, bytes }, { created: 2, directories: 1, bytes: 3 })
  const out = temporary(t, 'out')
  assert.equal((await ws.export('/imported', out)).written, 2)
  assert.deepEqual(readFileSync(join(out, 'sub', 'b.bin')), Buffer.from([0, 255]))
  assert.equal((await ws.stats()).files, 2)
})

test('files are read by lines', async (t) => {
  const { files } = await inMemory(t)
  await files.writeFile('/a.txt', 'one\ntwo\nthree\n')
  const { lines, next, total } = await files.readLines('/a.txt', { offset: 1, limit: 1 })
  assert.deepEqual({ lines, next, total }, { lines: ['two'], next: 2, total: 3 })
  assert.equal((await files.readLines('/a.txt')).endsWithNewline, true)
})

test('versions are listed, read, named and restored', async (t) => {
  const ws = await inMemory(t, { actor: 'human:ada' })
  await ws.files.writeFile('/a.txt', 'first\n')
  await ws.nameVersion('/a.txt', 'draft')
  await ws.filesFor('agent:bot').writeFile('/a.txt', 'quite another\n')
  const versions = await ws.versions('/a.txt')
  const draft = versions.find(({ names }) => names.includes('draft'))
  assert.equal((await ws.findVersion('/a.txt', { number: draft.number })).actor, 'human:ada')
  await ws.restoreVersion('/a.txt', draft.number)
  assert.equal(await ws.files.readText('/a.txt'), 'first\n')
  assert.equal(await ws.unnameVersion('/a.txt', 'draft'), true)
  assert.equal(await ws.findVersion('/a.txt', { name: 'draft' }), null)
})

test('the trash is listed, restored from, purged and emptied', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/d/a', '1')
  await ws.files.writeFile('/b', '2')
  await ws.files.rm('/d', { recursive: true })
  await ws.files.rm('/b')
  const trash = await ws.trash()
  assert.deepEqual(trash.map(({ original }) => original).sort(), ['/b', '/d'])
  const idOf = (path) => trash.find(({ original }) => original === path).id
  assert.equal(await ws.restore(idOf('/d'), '/e'), '/e')
  assert.equal(await ws.files.readText('/e/a'), '1')
  assert.equal(await ws.pathOf(idOf('/b')), null)
  assert.equal(await ws.purge([idOf('/b')]), 1)
  assert.equal((await ws.expire(0)).rows, 1)
  assert.deepEqual(await ws.trash(), [])
})

test('what a file held is erased for good', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'a secret and more\n')
  await ws.files.edit('/a.txt', 'secret', 'word')
  assert.ok((await ws.redactable('/a.txt')).pieces.join().includes('secret'))
  await ws.redact('/a.txt', { reason: 'asked for' })
  assert.equal((await ws.redactions('/a.txt'))[0].reason, 'asked for')
  assert.equal(await ws.files.readText('/a.txt'), 'a word and more\n')
  const [first] = await ws.versions('/a.txt')
  assert.ok(
    !Buffer.from(await ws.versionContent('/a.txt', first.number).catch(() => '')).includes(
      'secret',
    ),
  )
})

test('files move between workspaces with their history', async (t) => {
  const [from, to] = [await inMemory(t), await inMemory(t)]
  await from.files.writeFile('/a.txt', 'one\n')
  await from.filesFor('agent:bot').appendFile('/a.txt', 'two\n')
  const { id } = from.files.statSync('/a.txt')
  await from.moveTo('/a.txt', to, '/b.txt')
  assert.equal(to.files.statSync('/b.txt').id, id)
  assert.equal(await to.files.readText('/b.txt'), 'one\ntwo\n')
  assert.equal((await to.versions('/b.txt')).length, 2)
  assert.equal(from.files.existsSync('/a.txt'), false)
  await assert.rejects(from.moveTo('/a.txt', to, '/c.txt'), { code: 'ENOENT' })
})

test('rich text keeps another schema, and what is doubled is repaired', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.md', '# Title\n\n~~old~~ text\n')
  assert.equal(await ws.repair('/a.md'), false)
  assert.equal((await ws.convertProfile('commonmark')).files, 1)
  assert.equal(ws.profile, 'commonmark')
  assert.equal(await ws.files.readText('/a.md'), '# Title\n\n~~old~~ text\n')
})

test('refused updates are kept for inspection', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'kept')
  const port = await ws.openPort((await ws.document('/a.txt')).guid)
  await assert.rejects(port.applyUpdate(new Uint8Array([1, 2, 3])))
  assert.equal((await ws.quarantined())[0].bytes, 3)
})

test('an editor gets an event for each change of category, wherever its file moves', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.md', '# Title\n')
  const opened = await ws.openDocument('/a.md', { actor: 'human:ada' })
  assert.deepEqual([opened.category, opened.profile, opened.root], ['rich-text', 'gfm', 'richtext'])
  const roots = []
  const done = new Promise((resolve) =>
    opened.on('change', ({ root }) => roots.push(root) === 2 && resolve()),
  )
  await ws.files.mv('/a.md', '/d/b.md')
  await ws.files.mv('/d/b.md', '/c.txt')
  while (roots.length < 1) await new Promise(setImmediate)
  await ws.files.mv('/c.txt', '/e.md')
  await done
  assert.deepEqual(roots, ['text', 'richtext'])
  const doc = new Y.Doc()
  Y.applyUpdate(doc, await opened.port.diff())
  assert.equal(doc.getXmlFragment('richtext').length, 1)
  opened.close()
})

/**
 * Opens workspaces one after the other in a process of its own; prints the resident memory in MiB,
 * early and at the end.
 */
const MANY = `
const { Workspace } = await import(process.argv[1])
const isClosed = process.argv[2] === 'closed'
const resident = () => { gc(); return process.memoryUsage().rss / 2 ** 20 }
let early
for (let n = 1; n <= 200; n += 1) {
  let ws = await Workspace.open(':memory:')
  await ws.files.writeFile('/a.txt', 'some text '.repeat(30_000))
  const fs = ws.asNodeFs()
  fs.readFileSync('/a.txt')
  if (isClosed) await ws.close()
  ws = undefined
  if (n % 10 === 0) { gc(); await new Promise((resolve) => setTimeout(resolve, 1)) }
  if (n === 40) early = resident()
}
gc()
await new Promise((resolve) => setTimeout(resolve, 1))
console.log(JSON.stringify([early, resident()]))
`

for (const how of ['closed', 'left to the garbage collector']) {
  test(`workspaces that are ${how} hold no memory`, () => {
    const entry = new URL('../dist/index.js', import.meta.url).href
    const printed = execFileSync(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', MANY, entry, how],
      { encoding: 'utf8' },
    )
    const [early, late] = JSON.parse(printed)
    // Each held a megabyte at least.
    assert.ok(late < early + 80, `${early} MiB after 40 workspaces, ${late} MiB after 200`)
  })
}
