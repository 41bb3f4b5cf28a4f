// Saves documents as applications of the three formats of the specification do, for
// `yfs import --yjs`.
//
// node yjs-export.mjs DIR VERSION: VERSION is the one of updates, 1 or 2. Run again in the same
// directory, it changes every document as another day's work does, and saves them again.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import * as Y from 'yjs'

const [dir, version] = process.argv.slice(2)
const [apply, encode] =
  version === '2'
    ? [Y.applyUpdateV2, Y.encodeStateAsUpdateV2]
    : [Y.applyUpdate, Y.encodeStateAsUpdate]
mkdirSync(dir, { recursive: true })

function change(name, first, later) {
  const doc = new Y.Doc({ gc: false })
  const file = `${dir}/${name}.bin`
  const exists = existsSync(file)
  if (exists) apply(doc, readFileSync(file))
  doc.transact(() => (exists ? later(doc) : first(doc)))
  writeFileSync(file, encode(doc))
}

const row = (id, name, parentId, type, time) => ({
  key: id,
  val: { id, name, parentId, type, size: 3, createdAt: time, updatedAt: time, trashedAt: null },
  ts: 1_795_296_141_108,
})
const paragraph = (text) => {
  const element = new Y.XmlElement('paragraph')
  element.insert(0, [new Y.XmlText(text)])
  return element
}
const entry = (type, content) =>
  new Y.Map([
    ['type', type],
    ['content', content],
  ])

change(
  'main',
  (doc) =>
    doc
      .getArray('table:files')
      .push([
        row('folder000000001', 'docs', null, 'folder', 1_795_296_141_108),
        row('plain0000000001', 'plain.txt', 'folder000000001', 'file', 1_795_296_141_108),
        row('rich00000000001', 'rich.md', 'folder000000001', 'file', 1_795_296_141_108),
        row('later0000000001', 'later.md', null, 'file', '2026-11-21T21:19:10.581Z'),
        row('entries00000001', 'entries.txt', null, 'file', 1_795_296_141_108),
        row('bytes0000000001', 'bytes.bin', null, 'file', 1_795_296_141_108),
      ]),
  (doc) =>
    doc
      .getArray('table:files')
      .push([row('new000000000001', 'new.txt', null, 'file', 1_795_296_141_108)]),
)
change(
  'plain0000000001',
  (doc) => doc.getText('text').insert(0, 'one 😀\ntwo\n'),
  (doc) => doc.getText('text').insert(0, 'zero\n'),
)
change(
  'rich00000000001',
  (doc) => {
    doc.getMap('frontmatter').set('title', 'Tides')
    doc.getXmlFragment('richtext').insert(0, [paragraph('High water.')])
  },
  (doc) => doc.getXmlFragment('richtext').insert(1, [paragraph('Low water.')]),
)
change(
  'space.files.later0000000001.content',
  (doc) => doc.getText('content').insert(0, '# One\n\ntwo\n'),
  (doc) => doc.getText('content').insert(doc.getText('content').length, '\nthree\n'),
)
change(
  'entries00000001',
  (doc) => {
    doc.getArray('timeline').push([entry('text', new Y.Text('older\n'))])
    doc.getArray('timeline').push([entry('text', new Y.Text('newer\n'))])
  },
  (doc) => doc.getArray('timeline').get(1).get('content').insert(0, 'newest, '),
)
change(
  'bytes0000000001',
  (doc) => doc.getArray('timeline').push([entry('binary', new Uint8Array([255, 0, 1]))]),
  (doc) => doc.getArray('timeline').push([entry('binary', new Uint8Array([255, 0, 2]))]),
)
