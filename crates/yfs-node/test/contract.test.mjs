// Random scripts of operations, call by call beside just-bash's own filesystem in memory: results, messages, trees.
//
// What is left out differs by decision (docs/decisions/0017-links-of-shells.md).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryFs } from 'just-bash'
import { chance, inMemory, outcome, treeOf } from './support.mjs'

const PATHS = ['/a', '/b.md', '/d', '/d/e', '/d/f', '/d/g/h', '/x/y', '/d/../a', '//d//e/', '/none/deep/er', '/l']
const CONTENTS = ['', 'text\n', 'one\ntwo\n', 'é', new Uint8Array([0, 255, 128]), '# Title\n\ntext\n']

/** What may be called, and with what. */
const CALLS = {
  writeFile: (r) => [r.pick(PATHS), r.pick(CONTENTS)],
  appendFile: (r) => [r.pick(PATHS), r.pick(CONTENTS)],
  readFile: (r) => [r.pick(PATHS), r.pick([undefined, 'binary', 'base64', 'hex', { encoding: 'latin1' }])],
  readFileBuffer: (r) => [r.pick(PATHS)],
  exists: (r) => [r.pick(PATHS)],
  stat: (r) => [r.pick(PATHS)],
  lstat: (r) => [r.pick(PATHS)],
  mkdir: (r) => [r.pick(PATHS), r.pick([undefined, { recursive: true }])],
  readdir: (r) => [r.pick(PATHS)],
  readdirWithFileTypes: (r) => [r.pick(PATHS)],
  rm: (r) => [r.pick(PATHS), r.pick([undefined, { recursive: true }, { force: true }, { recursive: true, force: true }])],
  cp: (r) => [r.pick(PATHS), r.pick(PATHS), r.pick([undefined, { recursive: true }])],
  mv: (r) => [r.pick(PATHS), r.pick(PATHS)],
  chmod: (r) => [r.pick(PATHS), r.pick([0o755, 0o600, 0o4755])],
  symlink: (r) => [r.pick(['/a', 'e', '../a', '/none', '/d']), r.pick(PATHS)],
  link: (r) => [r.pick(PATHS), r.pick(PATHS)],
  readlink: (r) => [r.pick(PATHS)],
  realpath: (r) => [r.pick(PATHS)],
  utimes: (r) => [r.pick(PATHS), new Date(0), new Date(1_600_000_000_000)],
}

/** Of which arguments the objects are made, replaced, moved or changed: their ways must be directories. */
const CHANGES = {
  writeFile: [0], appendFile: [0], mkdir: [0], rm: [0], cp: [0, 1], mv: [0, 1], chmod: [0], symlink: [1], link: [0, 1],
}

test('random scripts end as over the filesystem in memory', async (t) => {
  for (let seed = 0; seed < 100; seed += 1) {
    const ours = (await inMemory(t)).asIFileSystem()
    const theirs = new InMemoryFs()
    const random = chance(seed)
    const script = []
    for (let step = 0; step < 40; step += 1) {
      const name = random.pick(Object.keys(CALLS))
      const args = CALLS[name](random)
      if (await differsByDecision(theirs, name, args)) continue
      script.push(`${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
      const [expected, got] = [await outcome(() => theirs[name](...args)), await outcome(() => ours[name](...args))]
      assert.deepEqual(plain(got), plain(expected), `seed ${seed}:\n${script.join('\n')}`)
    }
    assert.equal(await treeOf(ours, ['/']), await treeOf(theirs, ['/']), `seed ${seed}:\n${script.join('\n')}`)
  }
})

async function differsByDecision(fs, name, args) {
  const kinds = await Promise.all((CHANGES[name] ?? []).map((index) => kindOf(fs, args[index])))
  for (const index of CHANGES[name] ?? []) if (!(await wayIsOfDirectories(fs, args[index]))) return true
  const isLexical = ['readdir', 'readdirWithFileTypes', 'readlink'].includes(name)
  if (!(name in CHANGES) && !(await wayIsOfDirectories(fs, args[0], !isLexical))) return true
  if (name === 'writeFile') return kinds[0] === 'directory'
  // Adding nothing is no change, not of the time either.
  if (name === 'appendFile' && kinds[0] === 'file' && args[1].length === 0) return true
  if (name === 'appendFile' || name === 'chmod') return kinds[0] === 'link'
  if (name === 'cp' || name === 'mv') return kinds[0] !== kinds[1] && kinds[1] !== 'nothing' || kinds[1] === 'directory'
  return false
}

async function kindOf(fs, path) {
  const stat = await fs.lstat(path).catch(() => undefined)
  return !stat ? 'nothing' : stat.isSymbolicLink ? 'link' : stat.isDirectory ? 'directory' : 'file'
}

async function wayIsOfDirectories(fs, path, mayBeLinks = false) {
  const names = fs.resolvePath('/', path).split('/').slice(1, -1)
  let at = ''
  for (const name of names) {
    at += `/${name}`
    const kind = await kindOf(fs, at)
    if (kind === 'file' || (kind === 'link' && !mayBeLinks)) return false
  }
  return true
}

/** Leaves out what cannot be equal: identities, and times that nobody set. */
function plain(result) {
  const value = result.value
  if (value && typeof value === 'object' && 'mtime' in value) {
    const { mtime, identity, ...rest } = value
    return { value: { ...rest, hasIdentity: identity !== undefined } }
  }
  return result
}

test('directories are merged by cp and mv', async (t) => {
  for (const op of ['cp', 'mv']) {
    const [ours, theirs] = [(await inMemory(t)).asIFileSystem(), new InMemoryFs()]
    for (const fs of [ours, theirs]) {
      await fs.writeFile('/a/same', 'new')
      await fs.writeFile('/a/only/here', 'x')
      await fs.writeFile('/b/same', 'old')
      await fs.writeFile('/b/only/there', 'y')
      await fs[op]('/a', '/b', { recursive: true })
    }
    assert.equal(await treeOf(ours, ['/']), await treeOf(theirs, ['/']))
  }
})

test('identities are stable and of one object', async (t) => {
  const fs = (await inMemory(t)).asIFileSystem()
  await fs.writeFile('/a', '1')
  const { identity } = await fs.stat('/a')
  await fs.mv('/a', '/b')
  assert.equal((await fs.lstat('/b')).identity, identity)
  await fs.link('/b', '/c')
  assert.notEqual((await fs.stat('/c')).identity, identity)
})

test('a redirection is one least edit', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asIFileSystem()
  await fs.writeFile('/a.txt', 'one\ntwo\nthree\n')
  const port = await ws.openPort((await ws.document('/a.txt')).guid)
  const updates = []
  port.on('update', (update) => updates.push(update))
  await fs.writeFile('/a.txt', '', 'binary')
  assert.equal(await fs.readFile('/a.txt'), '')
  assert.equal((await fs.stat('/a.txt')).size, 0)
  await ws.files.appendFile('/a.txt', 'typed\n')
  await fs.writeFile('/a.txt', 'one\nTWO\nthree\n', 'binary')
  assert.equal(await ws.files.readText('/a.txt'), 'one\nTWO\nthree\ntyped\n')
})

test('an empty write that nothing follows empties the file', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asIFileSystem()
  await fs.writeFile('/a.txt', 'text')
  await fs.writeFile('/a.txt', '')
  await fs.flush()
  assert.equal(await ws.files.readText('/a.txt'), '')
})

test('what the system has of its own does not reach the workspace', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asIFileSystem()
  fs.mkdirSync('/usr/bin', { recursive: true })
  fs.writeFileSync('/usr/bin/ls', '#stub', undefined, { mode: 0o755 })
  fs.writeFileLazy('/proc/self/status', () => 'Name: bash\n')
  await fs.writeFile('/dev/null', 'x')
  assert.equal(await fs.readFile('/proc/self/status'), 'Name: bash\n')
  assert.equal((await fs.stat('/usr/bin/ls')).mode, 0o755)
  assert.deepEqual(await fs.readdir('/'), ['dev', 'proc', 'usr'])
  assert.deepEqual(ws.files.readdirSync('/'), [])
})

test('under the policy collab there are no links and no modes', async (t) => {
  const fs = (await inMemory(t)).asIFileSystem({ policy: 'collab' })
  await fs.writeFile('/a', 'x')
  await fs.chmod('/a', 0o755)
  assert.equal((await fs.stat('/a')).mode, 0o644)
  await assert.rejects(fs.symlink('/a', '/l'), { code: 'ENOSYS' })
  await assert.rejects(fs.link('/a', '/l'), { code: 'ENOSYS' })
  await assert.rejects(fs.link('/none', '/l'), { code: 'ENOENT' })
  await assert.rejects(fs.readlink('/a'), { code: 'EINVAL' })
})
