// The workspace in JavaScript: files, history, changes, documents, several processes.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import * as Y from 'yjs'
import { Workspace } from '../dist/index.js'
import { bind } from '../dist/yjs.js'
import { inMemory, temporary } from './support.mjs'

test('files are written, read, listed, moved and removed', async (t) => {
  const { files } = await inMemory(t)
  const written = await files.writeFile('/docs/plan.md', '1. Listen\n')
  assert.equal(written.created, true)
  assert.deepEqual(
    await files.edit('/docs/plan.md', 'Listen', 'Answer').then((it) => it.replaced),
    1,
  )
  await files.appendFile('/docs/plan.md', '2. Rest\n')
  assert.equal(await files.readText('/docs/plan.md'), '1. Answer\n2. Rest\n')
  await files.writeFile('/docs/raw', new Uint8Array([0, 255, 1]))
  assert.deepEqual(await files.readFile('/docs/raw'), new Uint8Array([0, 255, 1]))
  assert.deepEqual(files.readdirSync('/docs'), [
    { name: 'plan.md', kind: 'file' },
    { name: 'raw', kind: 'file' },
  ])
  const { id, size } = files.statSync('/docs/plan.md')
  assert.equal(size, 18)
  await files.mv('/docs/plan.md', '/plan.md')
  assert.equal(files.statSync('/plan.md').id, id)
  await files.rm('/docs', { recursive: true })
  assert.equal(files.existsSync('/docs'), false)
})

test('errors have the form of Node', async (t) => {
  const { files } = await inMemory(t)
  const none = { code: 'ENOENT', syscall: 'stat', path: '/none', errno: -2 }
  assert.throws(() => files.statSync('/none'), none)
  assert.throws(() => files.statSync('/none'), {
    message: "ENOENT: no such file or directory, stat '/none'",
  })
  await assert.rejects(files.mv('/none', '/other'), { code: 'ENOENT', syscall: 'rename' })
  await assert.rejects(files.edit('/none', 'a', 'b'), { code: 'ENOENT' })
  assert.throws(() => files.statSync('/a\0b'), { code: 'ERR_INVALID_ARG_VALUE' })
})

test('what others wrote since the base stays', async (t) => {
  const { files } = await inMemory(t)
  await files.writeFile('/a.txt', 'one\ntwo\nthree\n')
  const { version } = await files.read('/a.txt')
  await files.writeFile('/a.txt', 'ONE\ntwo\nthree\n')
  await files.writeFile('/a.txt', 'one\ntwo\nTHREE\n', { baseVersion: version })
  assert.equal(await files.readText('/a.txt'), 'ONE\ntwo\nTHREE\n')
})

test('versions, blame, anchors, trash', async (t) => {
  const ws = await inMemory(t, { actor: 'human:ada' })
  await ws.files.writeFile('/a.txt', 'first\n')
  await ws.nameVersion('/a.txt', 'draft')
  const anchor = await ws.anchor('/a.txt', { line: 1 })
  await ws.filesFor('agent:bot', 'tidy').writeFile('/a.txt', 'zeroth\nfirst\n')
  const draft = await ws.findVersion('/a.txt', { name: 'draft' })
  assert.equal(Buffer.from(await ws.versionContent('/a.txt', draft.number)).toString(), 'first\n')
  const blame = await ws.blame('/a.txt')
  assert.deepEqual(
    blame.map((line) => line.actor),
    ['agent:bot', 'human:ada'],
  )
  assert.equal((await ws.resolveAnchor(anchor)).line, 2)
  const [latest] = await ws.log('/', { limit: 1 })
  assert.deepEqual([latest.change, latest.path, latest.actor], ['edited', '/a.txt', 'agent:bot'])
  assert.equal((await ws.log('/a.txt')).length, 2)
  await ws.files.rm('/a.txt')
  const [item] = await ws.trash()
  assert.equal(await ws.restore(item.id), '/a.txt')
  assert.deepEqual(await ws.conflicts(), [])
})

test('lines and paths are found', async (t) => {
  const { files } = await inMemory(t)
  await files.writeFile('/src/a.rs', 'fn main() {}\n// needle\n')
  await files.writeFile('/src/b.txt', 'nothing\n')
  const found = await files.grep('need.e')
  assert.deepEqual(
    found.files.map((file) => [file.path, file.lines[0].line]),
    [['/src/a.rs', 2]],
  )
  assert.deepEqual(
    (await files.glob('*.txt')).entries.map((entry) => entry.path),
    ['/src/b.txt'],
  )
})

test('trees are listed whole, or one by one', async (t) => {
  const { files } = await inMemory(t)
  for (let n = 0; n < 600; n += 1) await files.writeFile(`/d/${n}`, 'x'.repeat(n % 7))
  const all = await files.walk('/')
  const one = []
  for await (const entry of files.each('/')) one.push(entry)
  assert.equal(all.length, 601)
  assert.deepEqual(one, all)
  assert.equal(
    (await files.grep('x', { literal: true })).files.length,
    all.filter(({ size }) => size > 0).length,
  )
})

test('changes are watched from a cursor on', async (t) => {
  const ws = await inMemory(t)
  const cursor = await ws.cursor()
  await ws.files.writeFile('/a', 'x')
  await ws.files.mv('/a', '/b')
  const seen = []
  for await (const change of ws.watch({ cursor })) {
    seen.push(`${change.type} ${change.path}`)
    if (change.path === '/b') break
  }
  assert.match(seen.at(-1), / \/b$/)
})

test('a Y.Doc is bound to a file', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'hello')
  const { guid, root } = await ws.document('/a.txt')
  assert.equal(root, 'text')
  const doc = new Y.Doc()
  const binding = await bind(ws, guid, doc)
  assert.equal(doc.getText('text').toString(), 'hello')
  doc.getText('text').insert(5, ' world')
  await binding.settled()
  assert.equal(await ws.files.readText('/a.txt'), 'hello world')
  const updated = new Promise((resolve) => doc.once('update', resolve))
  await ws.files.appendFile('/a.txt', '!')
  await updated
  assert.equal(doc.getText('text').toString(), 'hello world!')
  await binding.close()
})

test('an editor gets an event when the category of its file changes', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', '# Title\n')
  const document = await ws.openDocument('/a.txt')
  const changed = new Promise((resolve) => document.on('change', resolve))
  await ws.files.mv('/a.txt', '/a.md')
  const info = await changed
  assert.deepEqual([info.category, info.root, info.profile], ['rich-text', 'richtext', 'gfm'])
  document.close()
})

test('a refused update changes nothing', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'kept')
  const port = await ws.openPort((await ws.document('/a.txt')).guid)
  await assert.rejects(port.applyUpdate(new Uint8Array([1, 2, 3])), { code: 'ERR_YFS_REFUSED' })
  assert.equal(await ws.files.readText('/a.txt'), 'kept')
})

test('several processes have one workspace open', async (t) => {
  const file = temporary(t, 'shared.db')
  const ws = await Workspace.open(file)
  t.after(() => ws.close())
  await ws.files.writeFile('/a.txt', 'from here\n')
  const script = `
    const { Workspace } = await import(process.argv[1])
    const ws = await Workspace.open(process.argv[2])
    await ws.files.appendFile('/a.txt', 'from there\\n')
    await ws.close()`
  const entry = new URL('../dist/index.js', import.meta.url).href
  execFileSync(process.execPath, ['--input-type=module', '-e', script, entry, file])
  await ws.catchUp()
  assert.equal(await ws.files.readText('/a.txt'), 'from here\nfrom there\n')
})

test('a closed workspace says so', async () => {
  const ws = await Workspace.open(':memory:')
  await ws.close()
  await ws.close()
  assert.throws(() => ws.files.statSync('/'), { code: 'ERR_YFS_CLOSED' })
  await assert.rejects(ws.files.writeFile('/a', ''), { code: 'ERR_YFS_CLOSED' })
})
