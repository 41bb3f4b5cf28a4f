// Writes the history of a text as an update of about so many bytes: bursts of typing in random
// places, and deletions.
//
//   node history.mjs BYTES FILE

import { writeFileSync } from 'node:fs'
import * as Y from 'yjs'

const [bytes, file] = process.argv.slice(2)
let seed = 88_172_645
const below = (limit) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * limit)
}
const doc = new Y.Doc({ gc: false })
doc.clientID = 4711
const text = doc.getText('text')
const words = 'the tide comes in slowly and goes out again while the gulls stay put '
// A burst costs about 58 bytes of update.
const n = Math.floor(Number(bytes) / 58)
let at = 0
doc.transact(() => {
  for (let burst = 0; burst < n; burst += 1) {
    // Mostly near the last place, as people write.
    const near = Math.max(0, at + below(400) - 200)
    at = Math.min(below(500) === 0 ? below(text.length + 1) : near, text.length)
    const from = below(30)
    text.insert(at, words.slice(from, from + 12 + below(40)))
    if (below(3) === 0) text.delete(at, Math.min(below(12) + 1, text.length - at))
  }
})
writeFileSync(file, Y.encodeStateAsUpdate(doc))
