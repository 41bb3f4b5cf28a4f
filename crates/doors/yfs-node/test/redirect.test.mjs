// A redirection is two writes of the shell, an empty one and the content, and one edit of the file
// for all who type in it, read it, or open it after a crash.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { Bash } from 'just-bash'
import * as Y from 'yjs'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

const ENTRY = new URL('../dist/index.js', import.meta.url).href

/** Follows a document: what is in it after each update. */
async function follow(ws, guid, look) {
  const doc = new Y.Doc()
  const port = await ws.openPort(guid)
  Y.applyUpdate(doc, await port.diff())
  const states = []
  let wake = () => undefined
  port.on('update', (update) => {
    Y.applyUpdate(doc, update)
    states.push(look(doc))
    wake()
  })
  const until = async (isThere) => {
    while (!isThere()) await new Promise((resolve) => (wake = resolve))
  }
  return { states, until }
}

/** Opens a workspace with a file of three lines, a shell, and a record of the text per update. */
async function open(t, options) {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.txt', 'one\ntwo\nthree\n')
  const fs = ws.asIFileSystem(options)
  const bash = new Bash({ fs, cwd: '/' })
  const { guid } = await ws.document('/a.txt')
  const { states, until } = await follow(ws, guid, (doc) => doc.getText('text').toString())
  /** Returns the texts that a script made, in order. */
  const run = async (script) => {
    const { stderr } = await bash.exec(script)
    assert.equal(stderr, '')
    await ws.files.appendFile('/a.txt', 'END')
    await until(() => states.at(-1)?.endsWith('END'))
    return states.slice(0, -1)
  }
  return { ws, fs, bash, run, states, until }
}

for (const [script, result] of Object.entries({
  'grep -v two a.txt > b.txt; cat b.txt > a.txt': 'one\nthree\n',
  "sed -i 's/two/TWO/' a.txt": 'one\nTWO\nthree\n',
  'echo new > a.txt': 'new\n',
  '{ cat a.txt; echo four; } > b.txt; cat < b.txt > a.txt': 'one\ntwo\nthree\nfour\n',
  'for n in 1 2 3; do ls /; echo $n; done > /dev/null; seq 3 > a.txt': '1\n2\n3\n',
  'echo four >> a.txt': 'one\ntwo\nthree\nfour\n',
  'cat a.txt | tee a.txt > /dev/null; sort a.txt | tee b.txt > a.txt': 'one\nthree\ntwo\n',
  'cat <<< here > a.txt': 'here\n',
  'echo x > b.txt; for n in $(seq 400); do cat b.txt; echo $n > c.txt; done > a.txt': 'x\n'.repeat(
    400,
  ),
  'exec 3> a.txt; echo by number >&3; exec 3>&-': 'by number\n',
})) {
  test(`one edit: ${script}`, async (t) => {
    const { run } = await open(t)
    assert.deepEqual(await run(script), [result])
  })
}

test('who writes the same changes nothing', async (t) => {
  const { run } = await open(t)
  assert.deepEqual(await run('cat a.txt > b.txt; cat b.txt > a.txt'), [])
})

test('what is typed between the two writes stays where it was typed', async (t) => {
  const { ws, fs } = await open(t)
  const anchor = await ws.anchor('/a.txt', { line: 3 })
  await fs.writeFile('/a.txt', '', 'binary')
  await ws.files.edit('/a.txt', 'three', 'three typed')
  await fs.writeFile('/a.txt', 'one\nTWO\nthree\n', 'binary')
  assert.equal(await ws.files.readText('/a.txt'), 'one\nTWO\nthree typed\n')
  assert.equal((await ws.resolveAnchor(anchor)).line, 3)
})

test('until the content follows, the file is empty for the shell alone', async (t) => {
  const { ws, fs } = await open(t)
  const other = ws.asIFileSystem()
  await fs.writeFile('/a.txt', '', 'binary')
  for (const read of [fs.readFile('/a.txt'), fs.readFileBytes('/a.txt')])
    assert.equal(await read, '')
  assert.deepEqual(await fs.readFileBuffer('/a.txt'), new Uint8Array())
  assert.equal((await fs.stat('/a.txt')).size, 0)
  assert.equal(await other.readFile('/a.txt'), 'one\ntwo\nthree\n')
  assert.equal(await ws.files.readText('/a.txt'), 'one\ntwo\nthree\n')
  await fs.writeFile('/a.txt', 'new', 'binary')
  assert.equal(await other.readFile('/a.txt'), 'new')
})

test('an empty write that nothing follows empties the file when the shell is quiet', async (t) => {
  const { bash, states, until } = await open(t)
  await bash.exec(': > a.txt')
  assert.deepEqual(states, [])
  await until(() => states.length > 0)
  assert.deepEqual(states, [''])
})

test('what is typed into a file that is being emptied stays', async (t) => {
  const { ws, fs, bash } = await open(t)
  await bash.exec('> a.txt')
  await ws.files.edit('/a.txt', 'two', 'two typed')
  await fs.flush()
  assert.equal(await ws.files.readText('/a.txt'), ' typed')
})

for (const [script, expected] of Object.entries({
  ': > a.txt; cat a.txt; wc -c < a.txt': '0\n',
  ': > a.txt; mv a.txt b.txt; wc -c < b.txt': '0\n',
  ': > a.txt; cp a.txt b.txt; wc -c < b.txt': '0\n',
  ': > a.txt; ln -s a.txt l; wc -c < l; cat l': '0\n',
  ': > a.txt; echo x >> a.txt; cat a.txt': 'x\n',
  ': > a.txt; : > a.txt; cat a.txt': '',
  ': > a.txt; rm a.txt; ls': '',
  ': > a.txt; rm a.txt; echo new > a.txt; cat a.txt': 'new\n',
  ': > a.txt; touch -d 2020-01-01 a.txt; stat -c %s a.txt': '0\n',
  ': > a.txt; chmod 600 a.txt; stat -c "%a %s" a.txt': '600 0\n',
  ': > a.txt; mkdir d; mv a.txt d; find d -size 0 -type f': 'd/a.txt\n',
  ': > a.txt; grep -c two a.txt': '0\n',
  'false > a.txt; cat a.txt; echo "$?"': '0\n',
})) {
  test(`a file that is being emptied: ${script}`, async (t) => {
    const { bash, ws, fs } = await open(t)
    const { stdout } = await bash.exec(script)
    assert.equal(stdout.replace(/^(bin|dev|proc|usr|home|tmp|etc)\n/gm, ''), expected)
    await fs.flush()
    const left = (await ws.files.walk('/')).filter(({ kind }) => kind === 'file')
    for (const { path } of left) assert.ok(!(await ws.files.readText(path)).includes('two'), path)
  })
}

test('agents in several shells lose nothing', async (t) => {
  const ws = await inMemory(t)
  const agents = ['ada', 'bob', 'cy', 'dee']
  await ws.files.writeFile('/board.txt', agents.map((name) => `${name}: 0\n`).join(''))
  const work = async (name) => {
    const bash = new Bash({ fs: ws.asIFileSystem({ actor: `agent:${name}` }), cwd: '/' })
    for (let n = 1; n <= 20; n += 1) {
      const mine = [
        `echo "${name} says ${n}" >> board.txt`,
        `sed -i 's/^${name}: .*/${name}: ${n}/' board.txt`,
        `awk '{ sub(/^${name}: .*/, "${name}: ${n}"); print }' board.txt > ${name}.txt; ` +
          `cat ${name}.txt > board.txt`,
      ]
      for (const script of mine) assert.equal((await bash.exec(script)).stderr, '')
    }
  }
  await Promise.all(agents.map(work))
  const lines = (await ws.files.readText('/board.txt')).trimEnd().split('\n')
  const expected = agents.flatMap((name) => [
    `${name}: 20`,
    ...Array.from({ length: 20 }, (_, n) => `${name} says ${n + 1}`),
  ])
  assert.deepEqual(lines.toSorted(), expected.toSorted())
})

test('a process that dies between the two writes leaves the file as it was', async (t) => {
  const file = temporary(t, 'dies.db')
  const write = async (then) => {
    const script = `
      const { Workspace } = await import(process.argv[1])
      const ws = await Workspace.open(process.argv[2])
      const fs = ws.asIFileSystem()
      await fs.writeFile('/a.txt', 'kept\\n')
      await fs.writeFile('/a.txt', '', 'binary')
      ${then}`
    return spawnSync(process.execPath, ['--input-type=module', '-e', script, ENTRY, file])
  }
  const found = async () => {
    const ws = await Workspace.open(file)
    const text = await ws.files.readText('/a.txt')
    await ws.close()
    return text
  }
  const killed = await write(`process.kill(process.pid, 'SIGKILL')`)
  assert.equal(killed.signal, 'SIGKILL')
  assert.equal(await found(), 'kept\n')
  await write('await ws.close()')
  assert.equal(await found(), '')
})

test('a tree is changed in one transaction', async (t) => {
  const ws = await inMemory(t)
  const fs = ws.asIFileSystem()
  for (let n = 0; n < 20; n += 1) await fs.writeFile(`/d/e${n % 3}/f${n}`, `${n}\n`)
  const rows = await follow(ws, ws.id, (doc) => doc.getMap('files').size)
  const bash = new Bash({ fs, cwd: '/' })
  for (const script of ['cp -r d copy', 'mv copy moved', 'mkdir -p new/deep/er', 'rm -r moved']) {
    const before = rows.states.length
    await bash.exec(script)
    await ws.files.mkdir(`/${script.length}`)
    await rows.until(
      () => ws.files.existsSync(`/${script.length}`) && rows.states.length >= before + 2,
    )
    assert.equal(rows.states.length, before + 2, script)
  }
})

test('what an exec does has its actor and its label', async (t) => {
  const { ws, fs, bash } = await open(t, { actor: 'agent:bot', label: 'turn 1' })
  await bash.exec("sed -i 's/two/TWO/' a.txt")
  await fs.relabel('turn 2')
  await bash.exec('echo four >> a.txt; echo "five" > b.txt')
  const lines = await ws.blame('/a.txt')
  const labels = lines.map(
    ({ actor, shares }) => shares.find((share) => share.actor === actor).label,
  )
  assert.deepEqual(
    lines.map(({ actor }) => actor),
    ['system:', 'agent:bot', 'system:', 'agent:bot'],
  )
  assert.deepEqual(labels, [null, 'turn 1', null, 'turn 2'])
  assert.equal((await ws.versions('/b.txt')).at(-1).label, 'turn 2')
})

test('a text read before the file was replaced is no base of later writes', async (t) => {
  for (const change of [
    'cp b.txt a.txt',
    'mv b.txt a.txt',
    'cp -r e/. d; cp d/b.txt a.txt',
    'cp -r e d2; mv e/b.txt a.txt',
    'echo more >> a.txt',
    'cat b.txt >> a.txt',
    'tee -a a.txt < b.txt',
  ]) {
    const { bash, fs } = await open(t)
    await bash.exec(
      "printf 'quite another\\n' > b.txt; mkdir e; cp b.txt e/b.txt; " +
        'mkdir d; cp a.txt d/b.txt; cat d/b.txt',
    )
    const { stdout } = await bash.exec(
      `cat a.txt > /dev/null; ${change} > /dev/null; ` +
        "printf 'one\\n2\\nthree\\n' > a.txt; cat a.txt",
    )
    await fs.flush()
    assert.equal(stdout, 'one\n2\nthree\n', change)
  }
})

test('a text read below a directory before a copy over it is no base either', async (t) => {
  const { bash } = await open(t)
  await bash.exec(
    "mkdir -p d e; cp a.txt d/a.txt; printf 'quite another\\n' > e/a.txt; " +
      'cat d/a.txt > /dev/null; cp -r e/. d',
  )
  const { stdout } = await bash.exec("printf 'one\\n2\\nthree\\n' > d/a.txt; cat d/a.txt")
  assert.equal(stdout, 'one\n2\nthree\n')
})
