// What a shell may rely on beyond the calls of a filesystem in memory: least edits, identities, and
// files beside the workspace.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryFs } from 'just-bash'
import { inMemory, treeOf } from './support.mjs'

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

test('a move that cannot be merged moves nothing', async (t) => {
  const fs = (await inMemory(t)).asIFileSystem()
  for (const path of ['/a/first', '/a/x/deep', '/a/y', '/b/there', '/b/x', '/c/y/deep'])
    await fs.writeFile(path, path)
  const before = await treeOf(fs, ['/'])
  await assert.rejects(fs.mv('/a', '/b'), { message: "EEXIST: file already exists, mkdir '/b/x'" })
  await assert.rejects(fs.mv('/a', '/c'), { code: 'EISDIR' })
  await assert.rejects(fs.mv('/a', '/a/x/in'), { code: 'EINVAL' })
  assert.equal(await treeOf(fs, ['/']), before)
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

test('a file in the place of a link has the mode and time that it is given', async (t) => {
  const fs = (await inMemory(t)).asIFileSystem()
  const mtime = new Date('2024-01-02T03:04:05Z')
  await fs.symlink('/none', '/l')
  fs.writeFileSync('/l', 'text', undefined, { mode: 0o755, mtime })
  const { isFile, mode, mtime: now } = await fs.lstat('/l')
  assert.deepEqual({ isFile, mode, now }, { isFile: true, mode: 0o755, now: mtime })
})

test('closing reports writes that failed, and closes the workspace even so', async (t) => {
  const ws = await inMemory(t)
  const [first, second] = [ws.asIFileSystem(), ws.asIFileSystem()]
  first.writeFileSync('/no\\name', 'text')
  await second.writeFile('/a', 'text')
  await second.writeFile('/a', '')
  await assert.rejects(ws.close(), { code: 'EINVAL', path: '/no\\name' })
  await assert.rejects(ws.files.writeFile('/b', ''), { code: 'ERR_YFS_CLOSED' })
})

test('a stamp that is written again is new', async (t) => {
  const fs = (await inMemory(t)).asIFileSystem()
  await fs.writeFile('/stamp', 'done\n')
  await fs.utimes('/stamp', new Date(0), new Date(0))
  await fs.writeFile('/stamp', '', 'binary')
  await fs.writeFile('/stamp', 'done\n', 'binary')
  assert.notEqual(Number((await fs.stat('/stamp')).mtime), 0)
})

test('a lazy file is asked for once, when it is needed, and again if it fails', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asIFileSystem()
  let nCalls = 0
  const give = () => {
    nCalls += 1
    if (nCalls === 1) throw new Error('not yet')
    return `call ${nCalls}`
  }
  fs.writeFileLazy('/lazy', give)
  await fs.cp('/lazy', '/copy')
  assert.equal(nCalls, 0)
  await assert.rejects(fs.readFile('/copy'), /not yet/)
  assert.equal(await fs.readFile('/copy'), 'call 2')
  assert.equal(await fs.readFile('/lazy'), 'call 2')
  fs.writeFileLazy('/over', give)
  await fs.writeFile('/over', 'written')
  assert.equal(await fs.readFile('/over'), 'written')
  assert.equal(nCalls, 2)
  assert.equal(await ws.files.readText('/copy'), 'call 2')
})
