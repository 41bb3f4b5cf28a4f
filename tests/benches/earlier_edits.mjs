// Measures an edit of a Y.Text that was edited many times before, and opening such a document: the
// peer of `cargo bench -p yfs-engine --bench earlier_edits`. No content is collected.
//
//   cd tests/node && npm ci
//   NODE_PATH=node_modules node ../benches/earlier_edits.mjs 1000 10000
//
// A hundred clients write one after another, in one document that changes its client id.
// WRITERS=100 measures these only.

import { createRequire } from 'node:module'

const Y = createRequire(import.meta.url)('yjs')

const earlier = process.argv.slice(2).map(Number)
const sizes = earlier.length > 0 ? earlier : [1000, 10_000, 20_000, 40_000]
const measured = 500

const newDoc = (nth) => {
  const doc = new Y.Doc({ gc: false })
  doc.clientID = 2 ** 31 + nth
  return doc
}

let seed = 7
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

// CPU of the process in µs.
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const edit = (doc) => {
  const text = doc.getText('text')
  const at = random(text.length - 2)
  doc.transact(() => {
    text.insert(at, String(10 + random(90)))
    text.delete(at + 2, 2)
  })
}

const { WRITERS } = process.env
for (const writers of WRITERS ? [Number(WRITERS)] : [1, 100]) {
  const doc = newDoc(1)
  let [edits, nth] = [0, 1]
  const line = (_, n) => `line ${n} of a text with many words in it\n`
  doc.getText('text').insert(0, Array.from({ length: 2500 }, line).join(''))
  for (const size of sizes) {
    for (; edits < size; edits++) {
      if (writers > 1 && (edits * writers) / sizes.at(-1) > nth) doc.clientID = 2 ** 31 + ++nth
      edit(doc)
    }
    const begun = cpu()
    for (let n = 0; n < measured; n++) edit(doc)
    edits += measured
    const each = (cpu() - begun) / measured
    const encoding = cpu()
    const state = Y.encodeStateAsUpdate(doc)
    const encode = (cpu() - encoding) / 1000
    const opening = cpu()
    const opened = newDoc(0)
    Y.applyUpdate(opened, state)
    opened.getText('text').toString()
    const open = (cpu() - opening) / 1000
    console.log(
      `${writers} writers, ${size} earlier edits: ${each.toFixed(0)} µs an edit, ` +
        `encode ${encode.toFixed(0)} ms, open ${open.toFixed(0)} ms, ${state.length} bytes, ` +
        `${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB`,
    )
  }
}
