// Encrypted workspaces: a passphrase or a key file opens them, and nothing else.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Workspace } from '../dist/index.js'
import { temporary } from './support.mjs'

const passphrase = 'nine calm gauges'

/** Returns the content of each file beside a workspace. */
function bytesBeside(file) {
  const folder = dirname(file)
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  return files.map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name)))
}

/** Asserts that a workspace does not open, and that the error has no secret. */
async function assertRefused(file, options, code, words) {
  await assert.rejects(Workspace.open(file, options), (error) => {
    assert.equal(error.code, code, error.message)
    assert.match(error.message, words)
    assert.doesNotMatch(error.stack, /calm|secret/)
    return true
  })
}

test('a passphrase opens a workspace, and no file of it has the content', async (t) => {
  const file = temporary(t, 'w.db')
  const ws = await Workspace.open(file, { passphrase })
  await ws.files.writeFile('/plan.md', 'marzipan '.repeat(50))
  await ws.close()
  assert.ok(!bytesBeside(file).some((bytes) => bytes.includes('marzipan')))

  const before = readFileSync(file)
  await assertRefused(file, {}, 'ERR_YFS_KEY', /encrypted, and no passphrase was given/)
  for (const wrong of ['nine calm gauge', 'secret', 'nine calm gauges '])
    await assertRefused(
      file,
      { passphrase: wrong },
      'ERR_YFS_KEY',
      /passphrase or key file is wrong/,
    )
  const keyFile = temporary(t, 'key')
  writeFileSync(keyFile, randomBytes(32))
  await assertRefused(file, { keyFile }, 'ERR_YFS_KEY', /opens with a passphrase/)
  assert.deepEqual(readFileSync(file), before)

  // Line ends at the end do not count, as for the `yfs` command.
  const again = await Workspace.open(file, { passphrase: `${passphrase}\n`, create: false })
  assert.match(await again.files.readText('/plan.md'), /^marzipan/)
  await again.close()
})

test('a key file opens a workspace, also for the yfs command', async (t) => {
  const folder = temporary(t, '')
  const keyFile = temporary(t, 'key')
  await assertRefused(folder, { keyFile }, 'ENOENT', /key/)
  assert.ok(!existsSync(join(folder, '.yfs')), 'a refused call makes nothing')
  writeFileSync(keyFile, 'short')
  await assertRefused(folder, { keyFile }, 'ERR_YFS_KEY', /must have 32 bytes/)
  assert.ok(!existsSync(join(folder, '.yfs')))
  writeFileSync(keyFile, randomBytes(40))
  const ws = await Workspace.open(folder, { keyFile })
  await ws.files.writeFile('/a.txt', 'from Node\n')
  await ws.close()
  const yfs = (...args) =>
    execFileSync(process.env.YFS_COMMAND, [...args, '--workspace', folder, '--key-file', keyFile])
  assert.equal(yfs('cat', '/a.txt').toString(), 'from Node\n')
  yfs('write', '/b.txt', '--content', 'from the command')
  const again = await Workspace.open(folder, { keyFile, readOnly: true })
  assert.equal(await again.files.readText('/b.txt'), 'from the command')
  await again.close()
  await assertRefused(folder, { passphrase }, 'ERR_YFS_KEY', /opens with a key file/)
})

test('a key that makes no sense is refused before anything is made', async (t) => {
  const file = temporary(t, 'w.db')
  const invalid = 'ERR_INVALID_ARG_VALUE'
  const keyFile = temporary(t, 'key')
  writeFileSync(keyFile, randomBytes(32))
  await assertRefused(file, { passphrase, keyFile }, invalid, /both given/)
  await assertRefused(file, { passphrase: '' }, invalid, /1 byte to 1 MiB/)
  await assertRefused(file, { passphrase: `secret ${'x'.repeat(1 << 20)}` }, invalid, /1 MiB/)
  // A half of a surrogate pair has no bytes.
  await assertRefused(file, { passphrase: 'secret \ud800' }, invalid, /not valid/)
  await assertRefused(file, { passphrase: 7 }, 'ERR_INVALID_ARG_TYPE', /of type string/)
  await assertRefused(file, { keyFile: true }, 'ERR_INVALID_ARG_TYPE', /of type string/)
  await assertRefused(':memory:', { passphrase }, invalid, /in memory is not encrypted/)
  assert.throws(() => Workspace.inMemory({ keyFile }), { code: invalid })
  assert.ok(!existsSync(file))

  const plain = await Workspace.open(file)
  await plain.close()
  await assertRefused(file, { passphrase }, 'ERR_YFS_KEY', /it is not encrypted/)
})

test('an upload to a thread waits encrypted', { skip: !existsSync('/proc/self/fd') }, async (t) => {
  const ws = await Workspace.open(temporary(t, 'w.db'), { passphrase })
  t.after(() => ws.close())
  const state = await ws.thread('t')
  const piece = 'marzipan '.repeat(20_000)
  /** Returns the contents of the files without a name that this process has open. */
  const nameless = () => {
    const contents = []
    for (const fd of readdirSync('/proc/self/fd')) {
      try {
        const path = `/proc/self/fd/${fd}`
        if (readlinkSync(path).endsWith('(deleted)')) contents.push(readFileSync(path))
      } catch {
        // It was closed meanwhile, or is none that can be read.
      }
    }
    return contents
  }
  const found = []
  const pieces = async function* () {
    yield piece
    yield piece
    found.push(...nameless())
    yield piece
  }
  await state.writeFileStream('/large.txt', pieces())
  assert.ok(found.some((bytes) => bytes.length >= piece.length))
  assert.ok(!found.some((bytes) => bytes.includes('marzipan')))
  assert.equal(Buffer.from(await state.readFile('/large.txt')).toString(), piece.repeat(3))
})
