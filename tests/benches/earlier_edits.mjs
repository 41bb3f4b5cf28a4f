// Measures an edit of a Y.Text that was edited many times before, and opening such a document: the
// peer of `cargo bench -p yfs-engine --bench earlier_edits`. No content is collected.
//
//   cd tests/node && npm ci
//   NODE_PATH=node_modules node ../benches/earlier_edits.mjs 1000 10000
//
// A hundred clients write one after another: each continues the document of the one before.

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

for (const writers of [1, 100]) {
  let [doc, edits, nth] = [newDoc(1), 0, 1]
  const line = (_, n) => `line ${n} of a text with many words in it\n`
  doc.getText('text').insert(0, Array.from({ length: 2500 }, line).join(''))
  for (const size of sizes) {
    for (; edits < size; edits++) {
      if (writers > 1 && (edits * writers) / sizes.at(-1) > nth) {
        const next = newDoc(++nth)
        Y.applyUpdate(next, Y.encodeStateAsUpdate(doc))
        doc = next
      }
      edit(doc)
    }
    const begun = cpu()
    for (let n = 0; n < measured; n++) edit(doc)
    edits += measured
    const each = (cpu() - begun) / measured
    const state = Y.encodeStateAsUpdate(doc)
    const opening = cpu()
    const opened = newDoc(0)
    Y.applyUpdate(opened, state)
    opened.getText('text').toString()
    const open = (cpu() - opening) / 1000
    console.log(
      `${writers} writers, ${size} earlier edits: ${each.toFixed(0)} µs an edit, ` +
        `open ${open.toFixed(0)} ms, ${state.length} bytes`,
    )
  }
}
