// isomorphic-git keeps a repository of 1,000 files in a workspace; the system's git accepts it.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import git from 'isomorphic-git'
import { inMemory, temporary } from './support.mjs'

const N_FILES = 1_000
const AUTHOR = {
  name: 'Ada',
  email: 'ada@example.org',
  timestamp: 1_700_000_000,
  timezoneOffset: 0,
}

const pathOf = (n) => `src/${n % 20}/file-${n}.txt`

test('a repository is made, committed, branched, merged, checked out and compared', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asNodeFs({ actor: 'agent:git' })
  const dir = '/project'
  const at = { fs, dir, cache: {} }
  await git.init({ ...at, defaultBranch: 'main' })
  await fs.promises.mkdir(dir, { recursive: true })
  for (let n = 0; n < 20; n += 1) await fs.promises.mkdir(`${dir}/src/${n}`, { recursive: true })
  await Promise.all(
    Array.from({ length: N_FILES }, (_, n) =>
      fs.promises.writeFile(`${dir}/${pathOf(n)}`, `file ${n}\nline\n`),
    ),
  )
  await fs.promises.writeFile(`${dir}/run.sh`, '#!/bin/sh\n', { mode: 0o755 })
  await fs.promises.symlink('run.sh', `${dir}/link`)
  await git.add({ ...at, filepath: '.' })
  const first = await git.commit({ ...at, message: 'Begin', author: AUTHOR })

  await git.branch({ ...at, ref: 'topic', checkout: true })
  await fs.promises.writeFile(`${dir}/${pathOf(1)}`, 'file 1\nchanged on topic\n')
  await git.remove({ ...at, filepath: pathOf(2) })
  await fs.promises.rm(`${dir}/${pathOf(2)}`)
  await git.add({ ...at, filepath: pathOf(1) })
  await git.commit({ ...at, message: 'Change on topic', author: AUTHOR })
  assert.equal(
    await fs.promises.readFile(`${dir}/${pathOf(1)}`, 'utf8'),
    'file 1\nchanged on topic\n',
  )

  await git.checkout({ ...at, ref: 'main' })
  assert.equal(await fs.promises.readFile(`${dir}/${pathOf(1)}`, 'utf8'), 'file 1\nline\n')
  assert.equal(await fs.promises.readFile(`${dir}/${pathOf(2)}`, 'utf8'), 'file 2\nline\n')
  await fs.promises.writeFile(`${dir}/${pathOf(3)}`, 'file 3\nchanged on main\n')
  await git.add({ ...at, filepath: pathOf(3) })
  await git.commit({ ...at, message: 'Change on main', author: AUTHOR })
  await git.merge({ ...at, ours: 'main', theirs: 'topic', author: AUTHOR, message: 'Merge topic' })
  await git.checkout({ ...at, ref: 'main', force: true })
  for (const [n, content] of [
    [1, 'file 1\nchanged on topic\n'],
    [3, 'file 3\nchanged on main\n'],
    [4, 'file 4\nline\n'],
  ]) {
    assert.equal(await fs.promises.readFile(`${dir}/${pathOf(n)}`, 'utf8'), content)
  }
  assert.equal(fs.existsSync(`${dir}/${pathOf(2)}`), false)

  await fs.promises.writeFile(`${dir}/${pathOf(5)}`, 'not committed\n')
  const rows = await git.statusMatrix(at)
  assert.equal(rows.length, N_FILES + 1)
  assert.deepEqual(
    rows.filter(([, head, workdir, stage]) => head !== 1 || workdir !== 1 || stage !== 1),
    [[pathOf(5), 1, 2, 1]],
  )
  assert.deepEqual((await git.log(at)).map(({ commit }) => commit.message.trim()).slice(0, 1), [
    'Merge topic',
  ])
  const changed = await git.walk({
    ...at,
    trees: [git.TREE({ ref: first }), git.TREE({ ref: 'main' })],
    map: differing,
  })
  assert.deepEqual(changed.flat(9).filter(Boolean).sort(), [pathOf(1), pathOf(2), pathOf(3)].sort())

  const [{ oid: head }] = await git.log({ ...at, depth: 1 })
  const packed = (await git.listFiles({ ...at, ref: 'main' })).slice(0, 50)
  const oids = await Promise.all(
    packed.map(async (filepath) => (await git.readBlob({ ...at, oid: head, filepath })).oid),
  )
  const { filename } = await git.packObjects({ ...at, oids, write: true })
  await git.indexPack({ ...at, filepath: `.git/objects/pack/${filename}` })

  const folder = temporary(t, 'exported')
  await ws.export(dir, folder)
  // An export leaves out what would change what tools do; here it is what is wanted.
  await ws.export(`${dir}/.git`, `${folder}/.git`)
  const system = (...args) =>
    execFileSync('git', ['-C', folder, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  system('fsck', '--strict', '--full')
  system('verify-pack', `.git/objects/pack/${filename.replace('.pack', '.idx')}`)
  assert.equal(
    system('log', '--format=%s', '--first-parent'),
    'Merge topic\nChange on main\nBegin\n',
  )
  assert.equal(system('status', '--porcelain').trim(), `M ${pathOf(5)}`)
  assert.equal(system('ls-files').trim().split('\n').length, N_FILES + 1)
})

/** Returns the path of what is not the same in two trees. */
async function differing(path, [before, after]) {
  if (path === '.') return undefined
  const isTree = (await before?.type()) === 'tree' || (await after?.type()) === 'tree'
  if ((await before?.oid()) === (await after?.oid())) return isTree ? null : undefined
  return isTree ? undefined : path
}
