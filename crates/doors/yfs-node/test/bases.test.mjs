// A client that reads a file and writes it back later keeps what others wrote meanwhile: each API
// of a workspace remembers what was read through it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bash } from 'just-bash'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

/** How many times the others write: enough that the log is worth compacting. */
const N_WRITES = 100

/** The faces of a workspace: how each reads a text, replaces it, and adds to it. */
const FACES = {
  'files, as text': (ws, options) => {
    const files = ws.filesFor(options?.actor, options?.label)
    return {
      read: (path) => files.readText(path),
      write: (path, text) => files.writeFile(path, text),
      append: (path, text) => files.appendFile(path, text),
    }
  },
  'files, as bytes': (ws) => {
    const { files } = ws
    const read = async (path) => Buffer.from(await files.readFile(path)).toString()
    return {
      read,
      write: (path, text) => files.writeFile(path, Buffer.from(text)),
      append: (path, text) => files.appendFile(path, text),
    }
  },
  'files, with the version that was read': (ws) => {
    const { files } = ws
    let baseVersion
    const read = async (path) => {
      const { data, version } = await files.read(path)
      baseVersion = version
      return Buffer.from(data).toString()
    }
    const write = async (path, text) => {
      baseVersion = (await files.writeFile(path, text, { baseVersion })).version
    }
    const append = async (path, text) => {
      baseVersion = (await files.appendFile(path, text)).version
    }
    return { read, write, append }
  },
  shell: (ws) => {
    const fs = ws.asIFileSystem()
    return {
      read: (path) => fs.readFile(path),
      write: (path, text) => fs.writeFile(path, text),
      append: (path, text) => fs.appendFile(path, text),
    }
  },
  'shell, as a redirection': (ws) => {
    const fs = ws.asIFileSystem()
    const write = async (path, text) => {
      await fs.writeFile(path, '')
      await fs.appendFile(path, text)
    }
    return {
      read: async (path) => Buffer.from(await fs.readFileBuffer(path)).toString(),
      write,
      append: (path, text) => fs.appendFile(path, text),
    }
  },
  'fs.promises': (ws) => {
    const { promises } = ws.asNodeFs()
    return {
      read: (path) => promises.readFile(path, 'utf8'),
      write: (path, text) => promises.writeFile(path, text),
      append: (path, text) => promises.appendFile(path, text),
    }
  },
  'fs, synchronous': (ws) => {
    const fs = ws.asNodeFs()
    return {
      read: async (path) => fs.readFileSync(path, 'utf8'),
      write: async (path, text) => fs.writeFileSync(path, text),
      append: async (path, text) => fs.appendFileSync(path, text),
    }
  },
  'fs, by descriptors': (ws) => {
    const fs = ws.asNodeFs()
    const opened = async (path, flags, work) => {
      const fd = fs.openSync(path, flags)
      const result = work(fd)
      fs.closeSync(fd)
      return result
    }
    return {
      read: (path) => opened(path, 'r', (fd) => fs.readFileSync(fd, 'utf8')),
      write: (path, text) => opened(path, 'w', (fd) => fs.writeSync(fd, text)),
      append: (path, text) => opened(path, 'a', (fd) => fs.writeSync(fd, text)),
    }
  },
}

for (const [name, face] of Object.entries(FACES)) {
  test(`what others wrote stays when their log was compacted meanwhile: ${name}`, async (t) => {
    const file = temporary(t, 'w.db')
    const ws = await Workspace.open(file, { actor: 'agent:sed' })
    await ws.files.writeFile('/f.txt', 'title\nbody\n')
    const { read, write } = face(ws)
    const text = await read('/f.txt')
    const other = await Workspace.open(file, { actor: 'human:ana' })
    for (let n = 0; n < N_WRITES; n += 1) await other.files.appendFile('/f.txt', `ana ${n}\n`)
    await other.compact()
    await other.close()
    await ws.catchUp()
    await write('/f.txt', text.replace('title', 'TITLE'))
    const appended = Array.from({ length: N_WRITES }, (_, n) => `ana ${n}\n`).join('')
    const expected = `TITLE\nbody\n${appended}`
    assert.equal(await ws.filesFor().readText('/f.txt'), expected)
    await ws.close()
  })

  test(`what others wrote stays when it was saved again: ${name}`, async (t) => {
    const ws = await inMemory(t)
    const human = ws.filesFor('human:ana')
    await human.writeFile('/f.txt', 'teh quick\nline two\nline three\n')
    const { read, write } = face(ws)
    const text = await read('/f.txt')
    // Neither has the file another length afterwards.
    await human.edit('/f.txt', 'teh', 'the')
    await write('/f.txt', text.replace('two', '2'))
    assert.equal(await human.readText('/f.txt'), 'the quick\nline 2\nline three\n')
    await human.edit('/f.txt', 'quick', 'quiet')
    await write('/f.txt', text.replace('two', '2').replace('three', '3'))
    assert.equal(await human.readText('/f.txt'), 'the quiet\nline 2\nline 3\n')
    await write('/f.txt', text.replace('two', '2').replace('three', '4'))
    assert.equal(await human.readText('/f.txt'), 'the quiet\nline 2\nline 4\n')
  })

  test(`appending is no reading: ${name}`, async (t) => {
    const ws = await inMemory(t)
    const human = ws.filesFor('human:ana')
    await human.writeFile('/f.txt', 'one\n')
    const { read, write, append } = face(ws)
    const text = await read('/f.txt')
    await human.edit('/f.txt', 'one\n', 'one\nHUMAN\n')
    await append('/f.txt', 'two\n')
    await write('/f.txt', `${text}two\nthree\n`)
    const now = await human.readText('/f.txt')
    assert.deepEqual(
      now.split('\n').filter((line) => line === 'HUMAN'),
      ['HUMAN'],
      now,
    )
    assert.ok(now.includes('three'), now)
  })

  test(`what was written is known as well: ${name}`, async (t) => {
    const ws = await inMemory(t)
    const human = ws.filesFor('human:ana')
    const { write, append } = face(ws)
    await write('/f.txt', 'one\ntwo\n')
    await human.edit('/f.txt', 'one', 'ONE')
    await append('/f.txt', 'three\n')
    await write('/f.txt', 'one\nTWO\nthree\n')
    assert.equal(await human.readText('/f.txt'), 'ONE\nTWO\nthree\n')
  })

  test(`bytes that another has replaced are not overwritten unseen: ${name}`, async (t) => {
    const ws = await inMemory(t)
    const human = ws.filesFor('human:ana')
    await human.writeFile('/raw', new Uint8Array([255, 1]))
    const { read, write } = face(ws)
    await read('/raw')
    await human.writeFile('/raw', new Uint8Array([255, 2]))
    await assert.rejects(async () => write('/raw', 'mine'), { code: 'ESTALE' })
    assert.deepEqual(await human.readFile('/raw'), new Uint8Array([255, 2]))
    // Once it was read, it may be written.
    await read('/raw')
    await write('/raw', 'mine')
    assert.equal(await human.readText('/raw'), 'mine')
  })

  test(`a file that was never read is replaced: ${name}`, async (t) => {
    const ws = await inMemory(t)
    const human = ws.filesFor('human:ana')
    await human.writeFile('/f.txt', 'theirs\n')
    await face(ws).write('/f.txt', 'mine\n')
    assert.equal(await human.readText('/f.txt'), 'mine\n')
  })
}

test('two files objects do not know what the other has read', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/f.txt', 'one\ntwo\n')
  const [first, second] = [ws.filesFor('agent:a'), ws.filesFor('agent:b')]
  const text = await first.readText('/f.txt')
  await second.readText('/f.txt')
  await second.writeFile('/f.txt', 'ONE\ntwo\n')
  const written = await first.writeFile('/f.txt', text.replace('two', 'TWO'))
  assert.equal(written.merged, true)
  assert.equal('version' in written, false)
  assert.equal(await ws.files.readText('/f.txt'), 'ONE\nTWO\n')
})

test('a write returns a version only of content that the writer knows', async (t) => {
  const { files } = await inMemory(t)
  const made = await files.writeFile('/f.txt', 'one\n')
  assert.equal(made.merged, false)
  assert.equal((await files.read('/f.txt')).version, made.version)
  const edited = await files.edit('/f.txt', 'one', 'two', { expectedVersion: made.version })
  assert.equal((await files.read('/f.txt')).version, edited.version)
  assert.equal('version' in (await files.edit('/f.txt', 'two', 'three')), false)
})

test('a base that is given goes before what was read', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  const { files } = ws
  await files.writeFile('/f.txt', 'one\ntwo\n')
  const { version } = await files.read('/f.txt')
  await human.edit('/f.txt', 'one', 'ONE')
  await files.readText('/f.txt')
  await files.writeFile('/f.txt', 'one\nTWO\n', { baseVersion: version })
  assert.equal(await human.readText('/f.txt'), 'ONE\nTWO\n')
  await assert.rejects(files.writeFile('/f.txt', 'x', { expectedVersion: version }), {
    code: 'ESTALE',
  })
})

test('a label on what a shell does does not make it forget', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  await human.writeFile('/f.txt', 'one\ntwo\n')
  const fs = ws.asIFileSystem()
  const text = await fs.readFile('/f.txt')
  await fs.relabel('second turn')
  await human.edit('/f.txt', 'one', 'ONE')
  await fs.writeFile('/f.txt', text.replace('two', 'TWO'))
  assert.equal(await human.readText('/f.txt'), 'ONE\nTWO\n')
})

test('a lone truncation deletes only the known text, the next write keeps the rest', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  await human.writeFile('/f.txt', 'old\n')
  const fs = ws.asIFileSystem()
  await fs.writeFile('/f.txt', '')
  await human.appendFile('/f.txt', 'HUMAN\n')
  await fs.flush()
  assert.equal(await human.readText('/f.txt'), 'HUMAN\n')
  await fs.writeFile('/f.txt', '')
  await human.appendFile('/f.txt', 'again\n')
  await fs.appendFile('/f.txt', 'new\n')
  const lines = (await human.readText('/f.txt')).trim().split('\n').sort()
  assert.deepEqual(lines, ['HUMAN', 'again', 'new'])
})

test('a redirection whose command takes long doubles nothing of what others changed', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  await human.writeFile('/f.txt', 'Typed: \nLog:\n')
  const fs = ws.asIFileSystem()
  const text = await fs.readFile('/f.txt')
  await human.edit('/f.txt', 'Typed: ', 'Typed: abc')
  await fs.writeFile('/f.txt', '')
  // Long enough for a shell to count as quiet: a command was loaded from a slow disk, or slept.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  await human.edit('/f.txt', 'abc', 'abcd')
  await fs.writeFile('/f.txt', text)
  assert.equal(await human.readText('/f.txt'), 'Typed: abcd\nLog:\n')
})

test('a file that is opened for writing and written late doubles nothing of others', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  await human.writeFile('/f.txt', 'Typed: \nLog:\n')
  const fs = ws.asNodeFs().promises
  const text = await fs.readFile('/f.txt', 'utf8')
  await human.edit('/f.txt', 'Typed: ', 'Typed: abc')
  const file = await fs.open('/f.txt', 'w')
  // Longer than a truncation is held back when no other writer changed the file.
  await new Promise((resolve) => setTimeout(resolve, 2500))
  await human.edit('/f.txt', 'abc', 'abcd')
  await file.writeFile(text)
  await file.close()
  assert.equal(await human.readText('/f.txt'), 'Typed: abcd\nLog:\n')
})

test('what was moved or copied over a file is no edit of what was read', async (t) => {
  const ws = await inMemory(t)
  for (const face of [ws.asIFileSystem(), ws.asNodeFs().promises]) {
    for (const move of ['move', 'copy']) {
      await ws.files.writeFile('/from', 'other\ncontent\n')
      await ws.files.writeFile('/to', 'one\ntwo\n')
      await face.readFile('/to')
      if (face.mv) await face[move === 'move' ? 'mv' : 'cp']('/from', '/to')
      else await face[move === 'move' ? 'rename' : 'copyFile']('/from', '/to')
      await face.writeFile('/to', 'one\n')
      assert.equal(await ws.filesFor().readText('/to'), 'one\n')
    }
  }
})

test('a link is replaced by what a shell writes, and followed by what it reads', async (t) => {
  const ws = await inMemory(t)
  const human = ws.filesFor('human:ana')
  await human.writeFile('/target', 'one\ntwo\n')
  await human.symlink('/target', '/link')
  const fs = ws.asIFileSystem()
  const text = await fs.readFile('/link')
  await human.edit('/target', 'one', 'ONE')
  await fs.writeFile('/link', text.replace('two', 'TWO'))
  assert.equal(await human.readText('/link'), 'one\nTWO\n')
  assert.equal(await human.readText('/target'), 'ONE\ntwo\n')
})

test('a script keeps what is typed while it thinks', async (t) => {
  const file = temporary(t, 'w.db')
  const ws = await Workspace.open(file, { actor: 'agent:bash' })
  const human = ws.filesFor('human:ana')
  await human.writeFile('/f.txt', 'title\nbody\n')
  const bash = new Bash({ fs: ws.asIFileSystem(), cwd: '/' })
  await bash.exec('cat /f.txt > /tmp/copy')
  for (let n = 0; n < N_WRITES; n += 1) await human.appendFile('/f.txt', `ana ${n}\n`)
  await ws.compact()
  const { stderr } = await bash.exec('sed s/title/TITLE/ /tmp/copy > /f.txt')
  assert.equal(stderr, '')
  const text = await human.readText('/f.txt')
  assert.equal(text.split('\n').filter((line) => line.startsWith('ana')).length, N_WRITES)
  assert.ok(text.startsWith('TITLE\nbody\n'), text)
  await ws.close()
})
