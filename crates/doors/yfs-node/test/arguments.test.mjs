// Arguments that make no sense are refused, with the errors of Node, before anything changes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resultOf, Workspace } from '../dist/index.js'
import { inMemory } from './support.mjs'

const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }
const VALUE = { name: 'TypeError', code: 'ERR_INVALID_ARG_VALUE' }

/** What is neither text nor bytes. */
const NO_CONTENT = {
  undefined,
  null: null,
  number: 7,
  boolean: true,
  object: {},
  array: [1, 2],
  function: () => 'x',
  date: new Date(0),
  'array buffer': new ArrayBuffer(4),
}

/** Every way in which content comes in, of one path. */
const WAYS = {
  'files.writeFile': (ws) => (path, data) => ws.files.writeFile(path, data),
  'files.writeFile with a base': (ws) => (path, data) =>
    ws.files.writeFile(path, data, { base: 'before' }),
  'files.appendFile': (ws) => (path, data) => ws.files.appendFile(path, data),
  'shell writeFile': (ws) => (path, data) => ws.asIFileSystem().writeFile(path, data),
  'shell writeFile in binary': (ws) => (path, data) =>
    ws.asIFileSystem().writeFile(path, data, 'binary'),
  'shell appendFile': (ws) => (path, data) => ws.asIFileSystem().appendFile(path, data),
  'shell writeFileSync': (ws) => async (path, data) => ws.asIFileSystem().writeFileSync(path, data),
  'shell writeFileLazy': (ws) => async (path, data) => {
    const fs = ws.asIFileSystem()
    fs.writeFileLazy(path, () => data)
    await fs.readFile(path)
  },
  'fs.writeFileSync': (ws) => async (path, data) => ws.asNodeFs().writeFileSync(path, data),
  'fs.promises.appendFile': (ws) => (path, data) => ws.asNodeFs().promises.appendFile(path, data),
  'fs.promises.writeFile': (ws) => (path, data) => ws.asNodeFs().promises.writeFile(path, data),
  'fs.writeFile': (ws) => async (path, data) =>
    ws.asNodeFs().writeFile(path, data, () => undefined),
  'fs.writeSync': (ws) => async (path, data) => {
    const fs = ws.asNodeFs()
    const fd = fs.openSync('/there', 'r+')
    fs.writeSync(fd, data)
  },
  'fs.writevSync': (ws) => async (path, data) => {
    const fs = ws.asNodeFs()
    const fd = fs.openSync('/there', 'r+')
    fs.writevSync(fd, [data])
  },
  'fs.createWriteStream': (ws) => async (path, data) =>
    ws.asNodeFs().createWriteStream('/there', { flags: 'r+' }).write(data),
  'FileHandle.writeFile': (ws) => async (path, data) => {
    const handle = await ws.asNodeFs().promises.open('/there', 'r+')
    await handle.writeFile(data)
  },
}

for (const [way, calling] of Object.entries(WAYS)) {
  test(`what is neither text nor bytes is refused and changes nothing: ${way}`, async (t) => {
    for (const [name, data] of Object.entries(NO_CONTENT)) {
      const ws = await inMemory(t)
      await ws.files.writeFile('/there', 'before')
      const call = calling(ws)
      // Node's own stream says so of null in another way.
      const expected =
        way === 'fs.createWriteStream' && data === null ? { code: 'ERR_STREAM_NULL_VALUES' } : TYPE
      for (const path of ['/there', '/new/file'])
        await assert.rejects(async () => call(path, data), expected, `${name} at ${path}`)
      assert.deepEqual(
        (await ws.files.walk('/')).map((it) => it.path),
        ['/there'],
        name,
      )
      assert.equal(await ws.files.readText('/there'), 'before', name)
    }
  })
}

test('views of other types are their bytes', async (t) => {
  const ws = await inMemory(t)
  const bytes = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7])
  for (const view of [new Uint16Array(bytes.buffer, 2, 2), new DataView(bytes.buffer, 2, 4)]) {
    await ws.files.writeFile('/view', view)
    assert.deepEqual(await ws.files.readFile('/view'), new Uint8Array([2, 3, 4, 5]))
    await ws.asIFileSystem().writeFile('/shell', view)
    assert.deepEqual(await ws.files.readFile('/shell'), new Uint8Array([2, 3, 4, 5]))
  }
})

test('bytes are taken when the call is made, whatever becomes of them', async (t) => {
  const ws = await inMemory(t)
  const bytes = new Uint8Array([1, 2, 3])
  const written = ws.files.writeFile('/a', bytes)
  bytes.fill(9)
  await written
  assert.deepEqual(await ws.files.readFile('/a'), new Uint8Array([1, 2, 3]))
})

test('options that nothing knows are refused, and values of another type', async (t) => {
  const ws = await inMemory(t)
  const { files } = ws
  await files.writeFile('/a', 'text')
  const unknown = { baseversion: '1' }
  const calls = {
    'Workspace.open': (options) => Workspace.open(':memory:', options),
    'Workspace.inMemory': async (options) => Workspace.inMemory(options),
    writeFile: (options) => files.writeFile('/a', 'new', options),
    appendFile: (options) => files.appendFile('/a', 'new', options),
    edit: (options) => files.edit('/a', 'text', 'new', options),
    mkdir: (options) => files.mkdir('/d', options),
    rm: (options) => files.rm('/a', options),
    cp: (options) => files.cp('/a', '/b', options),
    mv: (options) => files.mv('/a', '/b', options),
    describe: (options) => files.describe('/a', options),
    readLines: (options) => files.readLines('/a', options),
    walk: (options) => files.walk('/', options),
    each: (options) => files.each('/', options).next(),
    glob: (options) => files.glob('*', options),
    grep: (options) => files.grep('t', options),
    watch: async (options) => ws.watch(options),
    openPort: (options) => ws.openPort(ws.id, options),
    openDocument: (options) => ws.openDocument('/a', options),
    import: (options) => ws.import('/nowhere', '/', options),
    export: (options) => ws.export('/a', '/nowhere', options),
    redact: (options) => ws.redact('/a', options),
    redactable: (options) => ws.redactable('/a', options),
    asIFileSystem: async (options) => ws.asIFileSystem(options),
    asNodeFs: async (options) => ws.asNodeFs(options),
    artifacts: async (options) => ws.artifacts(options),
    stats: (options) => files.stats('/a', options),
    preview: (options) => files.preview('/a', { tokens: 1 }, options),
    context: (options) => files.context(options),
    query: (options) => files.query('/a', '.', options),
    cleanUp: (options) => ws.artifacts().cleanUp(options),
  }
  for (const [name, call] of Object.entries(calls)) {
    await assert.rejects(call(unknown), { ...VALUE, message: /baseversion/ }, name)
    for (const given of [null, 'text', 7]) await assert.rejects(async () => call(given), TYPE, name)
  }
  await assert.rejects(files.writeFile('/a', 'new', { mode: '755' }), TYPE)
  await assert.rejects(files.writeFile('/a', 'new', { create: 'perhaps' }), VALUE)
  await assert.rejects(files.grep('t', { include: '*.txt' }), TYPE)
  await assert.rejects(files.glob('*', { limit: '5' }), TYPE)
  await assert.rejects(files.rm('/a', { recursive: 1 }), TYPE)
  await assert.rejects(Workspace.open(':memory:', { readOnly: 'yes' }), TYPE)
  assert.equal(await files.readText('/a'), 'text')
  assert.deepEqual(
    (await files.walk('/')).map((it) => it.path),
    ['/a'],
  )
  // A member that is undefined is not there.
  await files.writeFile('/a', 'new', { mode: undefined, create: 'any' })
})

test('paths and texts of another type are refused', async (t) => {
  const { files } = await inMemory(t)
  await files.writeFile('/a', 'undefined')
  for (const value of [undefined, null, 7, {}]) {
    await assert.rejects(files.writeFile(value, 'x'), TYPE)
    await assert.rejects(files.readText(value), TYPE)
    assert.throws(() => files.statSync(value), TYPE)
    await assert.rejects(files.edit('/a', 'undefined', value), TYPE)
    await assert.rejects(files.edit('/a', value, 'x'), TYPE)
    await assert.rejects(files.mv('/a', value), TYPE)
    await assert.rejects(files.grep(value), TYPE)
    await assert.rejects(files.chmod('/a', String(value)), TYPE)
    await assert.rejects(files.utimes('/a', 'yesterday'), TYPE)
  }
  assert.equal(await files.readText('/a'), 'undefined')
})

test('an argument of another type is refused with what it should be', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a', 'text')
  const state = await ws.thread('t')
  const artifacts = ws.artifacts()
  const port = await ws.openPort(ws.id)
  const opened = await ws.openDocument('/a')
  const paths = async () => (await ws.files.walk('/')).map((it) => it.path)
  const before = await paths()
  const calls = {
    actor: (value) => ws.filesFor(value),
    label: (value) => ws.filesFor('agent:a', value),
    to: (value) => ws.restore('id', value),
    ids: (value) => ws.purge(value),
    'ids of another type': (value) => ws.purge([value]),
    which: (value) => ws.findVersion('/a', value),
    'which.name': (value) => ws.findVersion('/a', { name: value }),
    'which.number': (value) => ws.findVersion('/a', { number: [value] }),
    spot: (value) => ws.anchor('/a', value),
    'spot.offset': (value) => ws.anchor('/a', { offset: [value] }),
    stick: (value) => ws.anchor('/a', { offset: 0 }, value),
    profile: (value) => ws.convertProfile(value),
    other: (value) => ws.moveTo('/a', value, '/b'),
    'event of a port': (value) => port.on(value, () => undefined),
    'event of a document': (value) => opened.on(value, () => undefined),
    values: (value) => ws.threads().openFor(value),
    'values.agent': (value) => ws.threads().openFor({ agent: value }),
    source: (value) => state.writeFileStream('/f', value),
    response: (value) => artifacts.process(value, 't', 't'),
    'response.content': (value) => artifacts.process({ content: value }, 't', 't'),
    content: (value) => resultOf(value),
  }
  for (const [name, call] of Object.entries(calls)) {
    const [member] = name.split(' ')
    for (const value of [7, true, () => 'x'])
      await assert.rejects(
        async () => call(value),
        { ...TYPE, message: new RegExp(`"${member}[^"]*" (argument|property) must be`) },
        name,
      )
  }
  for (const value of [{ actor: 'agent:a' }, ['agent:a']])
    assert.throws(() => ws.filesFor(value), TYPE)
  assert.throws(() => ws.filesFor('agent:a', { label: 'x' }), TYPE)
  await assert.rejects(ws.anchor('/a', { offset: 0 }, 'up'), VALUE)
  await assert.rejects(ws.convertProfile('html'), VALUE)
  assert.throws(() => port.on('close', () => undefined), VALUE)
  opened.close()
  port.close()
  assert.deepEqual(await paths(), before)
})

test('an edit that is refused says why', async (t) => {
  const { files } = await inMemory(t)
  await files.writeFile('/a.txt', 'one\ntwo\none\n')
  const reason = 'the text to replace was not found'
  await assert.rejects(files.edit('/a.txt', 'three', '3'), {
    code: 'EINVAL',
    message: `EINVAL: invalid argument, edit '/a.txt': ${reason}`,
    reason,
  })
  await assert.rejects(files.edit('/a.txt', 'one', '1'), {
    message:
      /occurs 2 times, in lines 1, 3; it must occur once, unless all occurrences are replaced$/,
  })
})
