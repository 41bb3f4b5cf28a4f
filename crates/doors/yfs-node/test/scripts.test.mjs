// Shell scripts (`scripts.sh`) give the same results over a workspace as over just-bash's own
// filesystem in memory: output, exit code and files; another process reads the same files.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Bash, InMemoryFs } from 'just-bash'
import { Workspace } from '../dist/index.js'
import { temporary, treeOf } from './support.mjs'

const run = promisify(execFile)

/** Where the files that each script finds are copied from, and how old their directories are. */
const FIXTURE = '/fixture'
const DAY = new Date('2024-01-02T03:04:05Z')

for (const policy of ['posix', 'collab']) {
  test(`scripts end as over the filesystem in memory, policy ${policy}`, async (t) => {
    const { setup, scripts } = readScripts(policy)
    assert.ok(new Set(scripts).size >= 300, `${scripts.length} scripts`)
    const file = temporary(t, 'scripts.db')
    const ws = await Workspace.open(file)
    t.after(() => ws.close())
    const sides = [new InMemoryFs(), ws.asIFileSystem({ policy, actor: 'agent:scripts' })].map(
      (fs) => ({
        fs,
        bash: new Bash({ fs, cwd: '/' }),
      }),
    )
    for (const side of sides) await prepare(side, setup)
    const trees = []
    for (const [index, script] of scripts.entries()) {
      const cwd = `/${index}`
      const [expected, got] = [await end(sides[0], cwd, script), await end(sides[1], cwd, script)]
      assert.deepEqual(got, expected, `script ${index}:\n${script}`)
      trees.push(expected.tree)
      // It looks through all that it holds to list a directory.
      await sides[0].fs.rm(cwd, { recursive: true })
    }
    await ws.close()
    const reopened = await reopen(file, policy)
    for (const [index, tree] of trees.entries()) assert.equal(reopened[index], tree, scripts[index])
    assert.equal(reopened.length, trees.length)
  })
}

/** Says what another process finds: the trees below `/0`, `/1` and so on. */
const REOPEN = `
  const [at, file, policy] = process.argv.slice(1)
  const { Workspace } = await import(new URL('../dist/index.js', at))
  const { treeOf } = await import(new URL('support.mjs', at))
  const ws = await Workspace.open(file, { readOnly: true })
  const fs = ws.asIFileSystem({ policy })
  const trees = []
  for (let index = 0; await fs.exists('/' + index); index += 1)
    trees.push(await treeOf(fs, ['/' + index]))
  await ws.close()
  process.stdout.write(JSON.stringify(trees))`

/** Returns the trees that another process finds. */
async function reopen(file, policy) {
  const args = ['--input-type=module', '-e', REOPEN, import.meta.url, file, policy]
  return JSON.parse((await run(process.execPath, args, { maxBuffer: 1 << 28 })).stdout)
}

/** Reads what is run before each script, and the scripts that a policy has. */
function readScripts(policy) {
  const text = readFileSync(new URL('scripts.sh', import.meta.url), 'utf8')
  const [, setup, ...paragraphs] = text.trimEnd().split('\n\n')
  let isMeant = true
  const scripts = []
  for (const paragraph of paragraphs) {
    if (paragraph.startsWith('#: ')) isMeant = policy === 'posix' || !paragraph.endsWith('posix')
    else if (isMeant) scripts.push(paragraph)
  }
  return { setup, scripts }
}

/** Makes what the scripts find, once. */
async function prepare({ fs, bash }, setup) {
  await fs.mkdir(FIXTURE)
  const made = await bash.exec(setup, { cwd: FIXTURE })
  assert.equal(made.stderr, '')
}

/** Runs a script in a directory of its own, and says how it ended. */
async function end({ fs, bash }, cwd, script) {
  await fs.cp(FIXTURE, cwd, { recursive: true })
  await age(fs, cwd)
  const { stdout, stderr, exitCode } = await bash.exec(script, { cwd })
  return { stdout, stderr, exitCode, tree: await treeOf(fs, [cwd]) }
}

/** Sets the times of directories, which are copied with theirs by one and not by the other. */
async function age(fs, path) {
  await fs.utimes(path, DAY, DAY)
  for (const { name, isDirectory } of await fs.readdirWithFileTypes(path))
    if (isDirectory) await age(fs, `${path}/${name}`)
}
