// The parts of `asNodeFs()` that random scripts do not reach: handles, streams, directories, `cp`,
// watching, several writers.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { inMemory, temporary } from './support.mjs'

/** Runs the same over a workspace and over a temporary directory, and compares what it returns. */
function onBoth(name, script) {
  test(name, async (t) => {
    const root = fs.realpathSync(temporary(t, '')).replace(/\/$/, '')
    const strip = (value) => JSON.parse(JSON.stringify(value ?? null).replaceAll(root, ''))
    const expected = strip(await script(fs, (path) => root + path))
    const got = strip(await script((await inMemory(t)).asNodeFs(), (path) => path))
    assert.deepEqual(got, expected)
  })
}

const failureOf = (call) =>
  call().then(
    () => 'nothing',
    ({ code, message, syscall, name }) => ({ code, message, syscall, name }),
  )

onBoth('handles read and write at their own and at given positions', async (fs, at) => {
  const seen = []
  const handle = await fs.promises.open(at('/a.txt'), 'w+')
  seen.push(await handle.write('hello world'))
  seen.push((await handle.read(Buffer.alloc(4), 0, 4, 6)).buffer.toString())
  seen.push((await handle.write(Buffer.from('HELLO'), 0, 5, 0)).bytesWritten)
  await handle.truncate(8)
  seen.push((await handle.stat()).size)
  await handle.writev([Buffer.from('a'), Buffer.from('b')], 7)
  await handle.sync()
  seen.push(await fs.promises.readFile(at('/a.txt'), 'utf8'))
  await handle.chmod(0o600)
  await handle.utimes(1, 2)
  const { mode, mtimeMs } = await handle.stat()
  seen.push(mode, mtimeMs)
  seen.push((await handle.readv([Buffer.alloc(2), Buffer.alloc(20)], 0)).bytesRead)
  seen.push(await handle.readFile('utf8'))
  await handle.close()
  seen.push(await failureOf(() => handle.read()), handle.fd)
  return seen
})

onBoth('a handle keeps what is removed while it is open', async (fs, at) => {
  await fs.promises.writeFile(at('/a'), 'text')
  const handle = await fs.promises.open(at('/a'), 'r+')
  await fs.promises.unlink(at('/a'))
  await fs.promises.writeFile(at('/a'), 'another')
  await handle.write('T', 0)
  await handle.chmod(0o600)
  const { nlink, mode } = await handle.stat()
  const seen = [
    await handle.readFile('utf8'),
    nlink,
    mode,
    await fs.promises.readFile(at('/a'), 'utf8'),
  ]
  await handle.close()
  return seen
})

onBoth('two handles see what the other writes', async (fs, at) => {
  const [one, other] = [
    await fs.promises.open(at('/a'), 'w+'),
    await fs.promises.open(at('/a'), 'a+'),
  ]
  await one.write('one ')
  await other.write('other ')
  await one.write('O', 0)
  await fs.promises.rename(at('/a'), at('/b'))
  await other.write('end')
  const seen = [await one.readFile('utf8'), await fs.promises.readFile(at('/b'), 'utf8')]
  await one.close()
  await other.close()
  return seen
})

onBoth('streams carry files in pieces', async (fs, at) => {
  const bytes = Buffer.alloc(300_000, 'abcdefg')
  await pipeline(
    [bytes.subarray(0, 70_000), bytes.subarray(70_000)],
    fs.createWriteStream(at('/big')),
  )
  await pipeline(
    fs.createReadStream(at('/big'), { start: 10, end: 200_000 }),
    fs.createWriteStream(at('/part')),
  )
  await pipeline(['more'], fs.createWriteStream(at('/part'), { flags: 'a' }))
  await pipeline(['MIDDLE'], fs.createWriteStream(at('/part'), { flags: 'r+', start: 5 }))
  const seen = [
    await fs.promises.readFile(at('/part'), 'latin1'),
    (await fs.promises.stat(at('/big'))).size,
  ]
  const lines = fs.createReadStream(at('/none'))
  const [{ code, message }] = await once(lines, 'error')
  const stream = fs.createWriteStream(at('/late'))
  stream.write('a')
  stream.end('b')
  // At that moment, and not after the closing that follows.
  const finished = new Promise((resolve) =>
    stream.on('finish', () => resolve(fs.readFileSync(at('/late'), 'utf8'))),
  )
  seen.push(code, message, await finished, stream.bytesWritten)
  const handle = await fs.promises.open(at('/late'))
  for await (const line of handle.readLines()) seen.push(line)
  return seen
})

onBoth('directories are read name by name', async (fs, at) => {
  await fs.promises.mkdir(at('/d/e'), { recursive: true })
  await fs.promises.writeFile(at('/d/a'), '')
  const seen = []
  for await (const entry of await fs.promises.opendir(at('/d')))
    seen.push([entry.name, entry.isDirectory(), entry.parentPath])
  const open = fs.opendirSync(at('/d'))
  seen.push(open.path, open.readSync() !== null, (await open.read()) !== null, open.readSync())
  open.closeSync()
  seen.push(await failureOf(async () => open.readSync()).then(({ code }) => code))
  seen.push(
    await failureOf(() => fs.promises.opendir(at('/d/a'))),
    await failureOf(() => promisify(fs.opendir)(at('/none'))),
  )
  const all = await fs.promises.readdir(at('/'), { recursive: true })
  return [seen.sort(), all.sort()]
})

onBoth('temporary directories have names of their own', async (fs, at) => {
  const made = [await fs.promises.mkdtemp(at('/tmp-')), fs.mkdtempSync(at('/tmp-'))]
  return [
    made.map((path) => path.replace(/......$/, '')),
    new Set(made).size,
    fs.statSync(made[0]).mode,
    (await failureOf(() => fs.promises.mkdtemp(at('/no/x')))).code,
  ]
})

onBoth('trees are copied', async (fs, at) => {
  const { promises } = fs
  await promises.mkdir(at('/from/deep'), { recursive: true })
  await promises.writeFile(at('/from/a.txt'), 'a')
  await promises.writeFile(at('/from/deep/run.sh'), '#!', { mode: 0o700 })
  await promises.symlink('a.txt', at('/from/link'))
  await promises.mkdir(at('/to/deep'), { recursive: true })
  await promises.writeFile(at('/to/deep/kept'), 'kept')
  await promises.utimes(at('/from/a.txt'), 1, 1)
  await promises.cp(at('/from'), at('/to'), { recursive: true, preserveTimestamps: true })
  fs.cpSync(at('/from'), at('/new/place'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('a.txt'),
  })
  const seen = []
  for (const name of (await promises.readdir(at('/'), { recursive: true })).sort()) {
    const stat = fs.lstatSync(at(`/${name}`))
    seen.push([name, stat.isSymbolicLink() ? fs.readlinkSync(at(`/${name}`)) : stat.mode])
  }
  seen.push(fs.statSync(at('/to/a.txt')).mtimeMs)
  for (const [from, to, options] of [
    ['/from', '/other'],
    ['/from', '/from/deep/er', { recursive: true }],
    ['/from', '/to/a.txt', { recursive: true }],
    ['/from/a.txt', '/to'],
    ['/from/a.txt', '/from/a.txt'],
    ['/none', '/other'],
    ['/from/a.txt', '/to/a.txt', { force: false, errorOnExist: true }],
    ['/from/a.txt', '/to/a.txt', { force: false }],
  ]) {
    seen.push(await failureOf(() => promises.cp(at(from), at(to), options)))
  }
  return seen
})

onBoth('arguments are checked as Node checks them', async (fs, at) => {
  const calls = [
    () => fs.readFileSync(undefined),
    () => fs.readFileSync({}),
    () => fs.statSync('/a\0b'),
    () => fs.openSync(at('/a'), 'z'),
    () => fs.writeFileSync(at('/a'), {}),
    () => fs.mkdirSync(at('/a'), { mode: 'x' }),
    () => fs.chmodSync(at('/a'), -1),
    () => fs.closeSync('3'),
    () => fs.closeSync(-1),
    () => fs.renameSync(1, at('/a')),
    () => fs.readFile(at('/a')),
    () => fs.readFileSync(at('/a'), 'nope'),
    () => fs.utimesSync(at('/a'), {}, 1),
    () => fs.stat(undefined, () => undefined),
  ]
  // Their wording is that of a version of Node.
  return Promise.all(
    calls.map((call) => failureOf(async () => call()).then(({ code, name }) => [code, name])),
  )
})

test('the time of a file is that of its last change', async (t) => {
  const fs = (await inMemory(t)).asNodeFs()
  const now = Date.now()
  fs.writeFileSync('/a', 'text')
  for (const change of [
    () => fs.writeFileSync('/a', 'other'),
    () => fs.appendFileSync('/a', 'more'),
    () => fs.truncateSync('/a', 3),
  ]) {
    fs.utimesSync('/a', 1, 1)
    assert.equal(fs.statSync('/a').mtimeMs, 1000)
    change()
    assert.ok(fs.statSync('/a').mtimeMs >= now)
  }
  const fd = fs.openSync('/a', 'w')
  fs.futimesSync(fd, 1, 1)
  fs.closeSync(fd)
  assert.equal(fs.statSync('/a').mtimeMs, 1000)
  fs.writeFileSync('/a', 'text')
  fs.copyFileSync('/a', '/b')
  assert.ok(fs.statSync('/b').mtimeMs >= now)
  assert.ok(fs.statSync('/a').birthtimeMs >= now)
})

test('what is typed between the opening and the first write stays', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asNodeFs({ actor: 'agent:tool' })
  await ws.files.writeFile('/a.txt', 'one\ntwo\n')
  const handle = await fs.promises.open('/a.txt', 'w')
  assert.equal(fs.statSync('/a.txt').size, 0)
  assert.equal(fs.readFileSync('/a.txt', 'utf8'), '')
  await ws.files.appendFile('/a.txt', 'typed\n')
  await handle.writeFile('one\nTWO\n')
  await handle.close()
  assert.equal(await ws.files.readText('/a.txt'), 'one\nTWO\ntyped\n')
  assert.deepEqual(
    (await ws.blame('/a.txt')).map((line) => line.actor?.split(':')[0]),
    ['system', 'agent', 'system'],
  )
})

test('a file is written as an edit of what was read of it', async (t) => {
  const ws = await inMemory(t)
  const { promises } = ws.asNodeFs()
  await ws.files.writeFile('/a.txt', 'one\ntwo\n')
  const text = await promises.readFile('/a.txt', 'utf8')
  await ws.files.appendFile('/a.txt', 'typed\n')
  await promises.writeFile('/a.txt', text.replace('two', 'TWO'))
  assert.equal(await promises.readFile('/a.txt', 'utf8'), 'one\nTWO\ntyped\n')
  await ws.files.appendFile('/a.txt', 'again\n')
  await promises.writeFile('/a.txt', 'one\nTWO\ntyped\nmine\n')
  await ws.files.edit('/a.txt', 'again', 'AGAIN')
  // What it wrote last is what it knows, though the file never was that.
  await promises.writeFile('/a.txt', 'ONE\nTWO\ntyped\nmine\n')
  assert.equal(await promises.readFile('/a.txt', 'utf8'), 'ONE\nTWO\ntyped\nmine\nAGAIN\n')
})

test('what was read before a file was replaced is no base of what is written after', async (t) => {
  const ws = await inMemory(t)
  const { promises } = ws.asNodeFs()
  for (const replace of ['copyFile', 'rename']) {
    await promises.writeFile('/a', 'one\ntwo\nthree\n')
    await promises.writeFile('/b', 'quite another\n')
    await promises[replace]('/b', '/a')
    await promises.writeFile('/a', 'one\n2\nthree\n')
    assert.equal(await promises.readFile('/a', 'utf8'), 'one\n2\nthree\n')
  }
})

test('an opening that truncates and writes nothing empties the file', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asNodeFs()
  fs.writeFileSync('/a', 'text')
  fs.closeSync(fs.openSync('/a', 'w'))
  assert.equal(await ws.files.readText('/a'), '')
})

test('what was held back is done by sync, and before what moves or copies the file', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asNodeFs()
  for (const look of [
    async (handle) => (await handle.sync(), '/a'),
    async () => (await fs.promises.rename('/a', '/b'), '/b'),
    async () => (await fs.promises.copyFile('/a', '/b'), '/b'),
    async () => (fs.linkSync('/a', '/c'), '/c'),
  ]) {
    await fs.promises.writeFile('/a', 'text')
    const handle = await fs.promises.open('/a', 'w')
    assert.equal(await ws.files.readText(await look(handle)), '')
    await handle.close()
    await fs.promises.rm('/a', { force: true })
  }
})

test('a write during a pending truncation stays', async (t) => {
  const ws = await inMemory(t)
  const { promises } = ws.asNodeFs()
  await promises.writeFile('/a', 'text')
  const handle = await promises.open('/a', 'w')
  await Promise.all([
    handle.write('one'),
    promises.copyFile('/a', '/b'),
    handle.write('two'),
    handle.sync(),
  ])
  await handle.close()
  assert.equal(await promises.readFile('/a', 'utf8'), 'onetwo')
})

test('what was held back is done when the workspace is closed', async (t) => {
  const { Workspace } = await import('../dist/index.js')
  const file = temporary(t, 'held.db')
  const ws = await Workspace.open(file)
  ws.asNodeFs().writeFileSync('/a', 'text')
  ws.asNodeFs().openSync('/a', 'w')
  await ws.close()
  const again = await Workspace.open(file)
  t.after(() => again.close())
  assert.equal(await again.files.readText('/a'), '')
})

test('a watcher reports the changes of all actors', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asNodeFs()
  fs.mkdirSync('/d/e', { recursive: true })
  const watcher = fs.watch('/d', { recursive: true })
  const seen = []
  const sawLast = new Promise((resolve) => {
    watcher.on('change', (type, name) => {
      seen.push(`${type} ${name}`)
      if (name === 'last') resolve()
    })
  })
  await ws.files.writeFile('/d/e/a', 'x')
  await ws.files.writeFile('/elsewhere', 'x')
  await ws.files.mv('/d/e/a', '/d/b')
  await ws.files.writeFile('/d/last', 'x')
  await sawLast
  watcher.close()
  await once(watcher, 'close')
  assert.ok(seen.includes('rename e/a') || seen.includes('rename b'), seen.join())
  assert.ok(!seen.some((line) => line.includes('elsewhere')), seen.join())
  assert.throws(() => fs.watch('/none'), { code: 'ENOENT', syscall: 'watch' })
  const stop = new AbortController()
  const names = []
  const narrow = fs.watch('/d', (type, name) => names.push(name))
  const events = fs.promises.watch('/d/b', { signal: stop.signal })
  const next = events.next()
  await ws.files.writeFile('/d/e/deep', 'x')
  await ws.files.writeFile('/d/b', 'changed')
  assert.deepEqual((await next).value, { eventType: 'change', filename: 'b' })
  while (!names.includes('b')) await once(narrow, 'change')
  assert.ok(!names.includes('deep'), names.join())
  narrow.close()
  stop.abort()
  assert.equal((await events.next()).done, true)
})

test('a workspace that is open for reading takes no writes', async (t) => {
  const { Workspace } = await import('../dist/index.js')
  const file = temporary(t, 'read-only.db')
  const writer = await Workspace.open(file)
  await writer.files.writeFile('/a', 'text')
  await writer.close()
  const ws = await Workspace.open(file, { readOnly: true })
  t.after(() => ws.close())
  const fs = ws.asNodeFs()
  assert.equal(fs.readFileSync('/a', 'utf8'), 'text')
  assert.throws(() => fs.writeFileSync('/a', 'x'), { code: 'EROFS', syscall: 'open' })
  assert.throws(() => fs.accessSync('/a', fs.constants.W_OK), { code: 'EROFS' })
  assert.throws(() => fs.rmSync('/a'), { code: 'EROFS' })
})
