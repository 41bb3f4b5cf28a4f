// How long each call blocks the event loop, on a workspace of 100,000 files:
// `node bench/stall.mjs [FILES]`.
//
// A timer of a millisecond runs beside each call. What matters is the longest gap between two of
// its turns: in the time of the clock, in which other programs on the machine have their part as
// well, and in the time that this thread computed (Linux only). The same without any call is
// printed first: that much is the machine's.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Workspace } from '../dist/index.js'

const N_FILES = Number(process.argv[2] ?? 100_000)
const PER_FOLDER = 100
const TIMES = 7

/** Returns how long this thread has computed, in milliseconds. */
function computed() {
  return (
    Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  )
}

/**
 * Returns the longest gaps between turns of the event loop during a call: elapsed, and CPU time.
 */
async function longestGaps(work) {
  let last = [0, 0]
  let longest = [0, 0]
  const note = () => {
    const now = [performance.now(), computed()]
    longest = longest.map((gap, index) => Math.max(gap, now[index] - last[index]))
    last = now
  }
  const timer = setInterval(note, 1)
  await new Promise((resolve) => setTimeout(resolve, 5))
  note()
  longest = [0, 0]
  await work()
  note()
  await new Promise((resolve) => setTimeout(resolve, 3))
  clearInterval(timer)
  return longest
}

/** Measures a call several times, and prints medians and the worst. */
async function measure(name, work) {
  const gaps = []
  for (let n = 0; n < TIMES; n += 1) gaps.push(await longestGaps(() => work(n)))
  const sorted = [0, 1].map((index) => gaps.map((gap) => gap[index]).sort((a, b) => a - b))
  const shown = sorted.flatMap((column) => [column[TIMES >> 1], column.at(-1)])
  console.log(`${name.padEnd(40)}${shown.map((ms) => ms.toFixed(1).padStart(9)).join('')}`)
}

const folder = mkdtempSync(join(tmpdir(), 'yfs-stall-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'large.db')
const pathOf = (n) => `/src/${Math.floor(n / PER_FOLDER)}/file-${n}.txt`
const ws = await Workspace.open(file)
const writers = Array.from({ length: 4 }, async (_, writer) => {
  for (let n = writer; n < N_FILES; n += 4)
    await ws.files.writeFile(pathOf(n), `line one of ${n}\nneedle ${n % 1000}\nline three\n`)
})
await Promise.all(writers)
for (let n = 0; n < 2_000; n += 1) await ws.files.writeFile(`/flat/file-${n}`, `${n}\n`)
await ws.files.writeFile('/large.txt', 'a line of some length, again and again\n'.repeat(50_000))
await ws.files.writeFile('/large.bin', new Uint8Array(8_000_000).fill(255))
await ws.close()

console.log(
  `${N_FILES} files; longest hold of the event loop in ms: ` +
    `by the clock, median and worst of ${TIMES}; computed, the same`,
)
await measure('nothing, for 50 ms', () => new Promise((resolve) => setTimeout(resolve, 50)))
let other
await measure('open and close', async () => {
  other = await Workspace.open(file)
  await other.close()
})
const open = await Workspace.open(file)
const { files } = open
const fs = open.asNodeFs()
const shell = open.asIFileSystem()
const document = await open.openDocument('/src/1/file-101.txt')
const CALLS = {
  'files.stat, never read': (n) => files.stat(pathOf(777 + n)),
  'files.readText, never read': (n) => files.readText(pathOf(1777 + n)),
  'files.readdir of 100': () => files.readdir('/src/3'),
  'files.readdir of 2,000': () => files.readdir('/flat'),
  'files.readText of 2 MB': () => files.readText('/large.txt'),
  'files.readFile of 8 MB': () => files.readFile('/large.bin'),
  'files.writeFile': (n) => files.writeFile(pathOf(5), `changed ${n}\n`),
  'files.writeFile of 2 MB': (n) =>
    files.writeFile(
      '/large.txt',
      `${n} ${'a line of some length, again and again\n'.repeat(50_000)}`,
    ),
  'files.edit': (n) => files.edit('/large.txt', `${n} a`, `${n + 1} a`).catch(() => undefined),
  'files.appendFile': () => files.appendFile(pathOf(6), 'more\n'),
  'files.mkdir': (n) => files.mkdir(`/made-${n}`),
  'files.mv of a folder': (n) => files.mv(`/src/${n + 10}`, `/src/moved-${n}`),
  'files.cp of 100 files': (n) => files.cp('/src/30', `/copied-${n}`, { recursive: true }),
  'files.rm of 100 files': (n) => files.rm(`/copied-${n}`, { recursive: true }),
  'files.walk of all': () => files.walk('/'),
  'files.each of all': async () => {
    let n = 0
    for await (const entry of files.each('/')) n += entry.size
    return n
  },
  'files.totals': () => files.totals('/'),
  'files.glob **/*7.txt': () => files.glob('**/*7.txt'),
  'files.glob, 100 at most': () => files.glob('**/*7.txt', { limit: 100 }),
  'files.grep': () => files.grep('needle 77$'),
  'files.grep, everywhere': () => files.grep('needle', { maxTotal: 1_000 }),
  trash: () => open.trash(),
  versions: () => open.versions(pathOf(5)),
  blame: () => open.blame('/large.txt'),
  conflicts: () => open.conflicts(),
  stats: () => open.stats(),
  cursor: () => open.cursor(),
  'openDocument and close': async (n) => (await open.openDocument(pathOf(200 + n))).close(),
  'main document, opened and read whole': async () => {
    const port = await open.openPort(open.id)
    await port.diff()
    port.close()
  },
  'port.diff': () => document.port.diff(),
  'fs.promises.stat': () => fs.promises.stat(pathOf(99)),
  'fs.promises.readFile': (n) => fs.promises.readFile(pathOf(2_300 + n)),
  'fs.promises.writeFile': (n) => fs.promises.writeFile(pathOf(100), `${n}`),
  'fs.promises.readdir of 2,000': () => fs.promises.readdir('/flat', { withFileTypes: true }),
  'fs.promises.readdir, recursive': () => fs.promises.readdir('/', { recursive: true }),
  'fs.writeFileSync': async (n) => fs.writeFileSync(pathOf(101), `${n} sync`),
  'fs.readFileSync, never read': async (n) => fs.readFileSync(pathOf(4_200 + n)),
  'fs.promises.rename': (n) =>
    fs.promises.rename(n === 0 ? '/flat/file-1' : `/flat/r-${n - 1}`, `/flat/r-${n}`),
  'shell.readdir of 2,000': () => shell.readdir('/flat'),
  'shell.stat': () => shell.stat(pathOf(88)),
  'shell.readFile, never read': (n) => shell.readFile(pathOf(6_300 + n)),
  flush: () => open.flush(),
  'getAllPaths (synchronous by contract)': async () => shell.getAllPaths(),
}
for (const [name, call] of Object.entries(CALLS)) await measure(name, call)
document.close()
await open.close()
