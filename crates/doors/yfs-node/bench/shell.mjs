// What a shell pays over a workspace beside just-bash's own filesystem in memory, which has no
// history, no disk and no other writers: CPU time of the whole process, both in one run, each
// measure taken several times and the least kept.
//
// YFS_NODE_ADDON=target/release/yfs.node node crates/doors/yfs-node/bench/shell.mjs [files...]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bash, InMemoryFs } from 'just-bash'
import { Workspace } from '../dist/index.js'

const SIZES = process.argv.slice(2).map(Number)
const ROUNDS = 5
const CALL_ROUNDS = 20
const PER_DIRECTORY = 50

/** What takes longer than this is measured once. */
const ENOUGH_US = 2_000_000

/** Single calls, over paths that are spread over the tree. */
const CALLS = {
  stat: (fs, path) => fs.stat(path),
  lstat: (fs, path) => fs.lstat(path),
  readFile: (fs, path) => fs.readFile(path),
  readFileBytes: (fs, path) => fs.readFileBytes(path),
  readFileBuffer: (fs, path) => fs.readFileBuffer(path),
  readdir: (fs, path) => fs.readdir(path.slice(0, path.lastIndexOf('/'))),
  readdirWithFileTypes: (fs, path) => fs.readdirWithFileTypes(path.slice(0, path.lastIndexOf('/'))),
  writeFile: (fs, path, round) => fs.writeFile(path, contentOf(path, `round ${round}`)),
  appendFile: (fs, path) => fs.appendFile(path, 'one more line\n'),
}

const SCRIPTS = {
  'grep -rn needle /': 'grep -rn needle /w',
  'grep -rn --include': "grep -rn --include='*7.txt' line /w | wc -l",
  'rg needle': 'rg needle /w',
  'find -name': "find /w -name '*99.txt'",
  'find -type f -size': 'find /w -type f -size +4k',
  'ls -lR': 'ls -lR /w | wc -l',
  'cat | wc': 'cat /w/d0/f0.txt | wc -l',
  'sed -i': "sed -i 's/line/LINE/' /w/d0/f1.txt; sed -i 's/LINE/line/' /w/d0/f1.txt",
  'echo >': 'echo text > /w/d0/out.txt; echo more >> /w/d0/out.txt',
}

for (const size of SIZES.length > 0 ? SIZES : [1_000, 10_000]) await measure(size)

async function measure(size) {
  const folder = mkdtempSync(join(tmpdir(), 'yfs-bench-'))
  const ws = await Workspace.open(join(folder, 'bench.db'))
  const sides = [new InMemoryFs(), ws.asIFileSystem()]
  const paths = Array.from(
    { length: size },
    (_, n) => `/w/d${Math.floor(n / PER_DIRECTORY)}/f${n}.txt`,
  )
  for (const fs of sides) for (const path of paths) await fs.writeFile(path, contentOf(path))
  const some = paths.filter((_, n) => n % Math.ceil(size / 1000) === 0)
  console.log(`\n| ${size} files | in memory, µs | workspace, µs | ratio |\n|---|---:|---:|---:|`)
  for (const [name, call] of Object.entries(CALLS)) {
    const cost = await both(
      sides,
      async (fs, round) => {
        for (const path of some) await call(fs, path, round)
      },
      CALL_ROUNDS,
    )
    row(
      name,
      cost.map((it) => it / some.length),
    )
  }
  const shells = sides.map((fs) => new Bash({ fs, cwd: '/' }))
  for (const [name, script] of Object.entries(SCRIPTS)) {
    row(
      name,
      await both(shells, async (bash) => {
        const { exitCode, stderr } = await bash.exec(script)
        if (exitCode > 1) throw new Error(`${script}: ${stderr}`)
      }),
    )
  }
  await ws.close()
  rmSync(folder, { recursive: true })
}

/** Measures the same on both sides, in turn. */
async function both(sides, work, nRounds = ROUNDS) {
  const least = sides.map(() => Infinity)
  for (let round = 0; round <= nRounds; round += 1) {
    for (const [index, side] of sides.entries()) {
      const before = process.cpuUsage()
      await work(side, round)
      const { user, system } = process.cpuUsage(before)
      // The first round is there to warm up, unless one is enough.
      if (round > 0 || user > ENOUGH_US) least[index] = Math.min(least[index], user + system)
    }
    if (Math.max(...least) < Infinity && Math.min(...least) > ENOUGH_US) break
  }
  return least
}

function row(name, [theirs, ours]) {
  const shown = (value) => (value < 10 ? value.toFixed(2) : value.toFixed(0))
  console.log(`| ${name} | ${shown(theirs)} | ${shown(ours)} | ${(ours / theirs).toFixed(2)} |`)
}

function contentOf(path, note = 'none') {
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n} of ${path}, some words to fill it`)
  return `${lines.join('\n')}\nnote: ${note}\n${path.endsWith('99.txt') ? 'needle\n' : ''}`
}
