// What an edit of a text costs after so many earlier ones: CPU time of the whole process for
// `ws.files.edit`, in a workspace on disk, beside the same edit in a Yjs document with gc off.
//
// YFS_NODE_ADDON=target/release/yfs.node node crates/doors/yfs-node/bench/edits.mjs [edits...]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as Y from 'yjs'
import { Workspace } from '../dist/index.js'

const SIZES = process.argv.slice(2).map(Number)
if (SIZES.length === 0) SIZES.push(1_000, 10_000, 20_000, 40_000)
if (!SIZES.every((size, nth) => Number.isInteger(size) && size > (SIZES[nth - 1] ?? 0))) {
  console.error('usage: node edits.mjs [edits...], whole numbers that ascend')
  process.exit(2)
}
const N_LINES = 200
const N_MEASURED = 500

/** A random number below `n`, the same in every run. */
function random(state, n) {
  state.seed = (Math.imul(state.seed, 1_664_525) + 1_013_904_223) >>> 0
  return state.seed % n
}

/** Makes edits of a random word and returns the µs of CPU time for one of the last ones. */
async function measure(edit) {
  const state = { seed: 7 }
  const words = Array.from({ length: N_LINES }, (_, line) => `w${line}x0`)
  let n_edits = 0
  const one = async () => {
    const line = random(state, N_LINES)
    const [before, after] = [words[line], `w${line}x${++n_edits}`]
    words[line] = after
    await edit(before, after)
  }
  const found = []
  for (const size of SIZES) {
    while (n_edits < size) await one()
    const begun = process.cpuUsage()
    for (let nth = 0; nth < N_MEASURED; nth++) await one()
    const { user, system } = process.cpuUsage(begun)
    found.push(Math.round((user + system) / N_MEASURED))
  }
  return found
}

const START = Array.from(
  { length: N_LINES },
  (_, line) => `The gauge w${line}x0 was read.\n\n`,
).join('')

const directory = mkdtempSync(join(tmpdir(), 'yfs-edits-'))
const ws = await Workspace.open(join(directory, 'workspace.db'), { actor: 'human:ada' })
console.log(`| CPU of an edit, µs, after | ${SIZES.join(' | ')} |`)
console.log(`|---|${SIZES.map(() => '---:|').join('')}`)
for (const path of ['/plan.txt', '/plan.md']) {
  await ws.files.writeFile(path, START)
  const found = await measure((before, after) => ws.files.edit(path, before, after))
  console.log(`| ${path} | ${found.join(' | ')} |`)
}
const doc = new Y.Doc({ gc: false })
let sent = 0
doc.on('update', (update) => (sent += update.length))
const text = doc.getText('text')
text.insert(0, START)
const found = await measure((before, after) => {
  const at = text.toString().indexOf(before)
  doc.transact(() => {
    text.delete(at, before.length)
    text.insert(at, after)
  })
})
console.log(`| Yjs in memory | ${found.join(' | ')} |`)
if (sent === 0) throw new Error('Yjs made no updates')
await ws.close()
rmSync(directory, { recursive: true, force: true })
