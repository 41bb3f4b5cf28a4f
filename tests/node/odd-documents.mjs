// Documents that stock Yjs can make and that no editor should: deep, wide, of the wrong type, full
// of entries that yfs keeps for itself. Writes one JSON object a line: the extension of the file
// that the document is made for, the name of the case, and the document's state as an update in
// hexadecimal.

import * as encoding from 'lib0/encoding'
import * as Y from 'yjs'

const MANY = 20_000

function element(name, attributes = {}) {
  const made = new Y.XmlElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

function paragraph(text) {
  const made = element('paragraph')
  made.insert(0, [new Y.XmlText(text)])
  return made
}

function nested(fragment, depth, name) {
  let inner = fragment
  for (let level = 0; level < depth; level++) {
    const made = element(name)
    inner.insert(0, [made])
    inner = made
  }
  return inner
}

function times(count, make) {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** Numbers as Yjs writes them, one after the other. */
function numbers(...values) {
  return encoding.encode((encoder) => {
    for (const value of values) encoding.writeVarUint(encoder, value)
  })
}

const HASH = '0'.repeat(64)
const BEYOND = [255, 255, 255, 255, 15]

const markdown = {
  'many paragraphs': (doc) =>
    doc.getXmlFragment('richtext').insert(
      0,
      times(MANY, () => paragraph('x')),
    ),
  'nested 100': (doc) =>
    nested(doc.getXmlFragment('richtext'), 100, 'blockquote').insert(0, [element('paragraph')]),
  'nested lists': (doc) => {
    let inner = doc.getXmlFragment('richtext')
    for (let level = 0; level < 60; level++) {
      inner = nested(nested(inner, 1, 'bullet_list'), 1, 'list_item')
    }
    inner.insert(0, [element('paragraph')])
  },
  'nested 3000': (doc) => nested(doc.getXmlFragment('richtext'), 3000, 'blockquote'),
  'a long attribute': (doc) =>
    doc.getXmlFragment('richtext').insert(0, [element('heading', { level: 'x'.repeat(4 << 20) })]),
  'many attributes': (doc) =>
    doc
      .getXmlFragment('richtext')
      .insert(0, [
        element('paragraph', Object.fromEntries(times(MANY, (index) => [`a${index}`, 'v']))),
      ]),
  'odd attributes and names': (doc) =>
    doc
      .getXmlFragment('richtext')
      .insert(0, [
        element('heading', { level: -5 }),
        element('heading', { level: 1e9 }),
        element('heading', { level: {} }),
        element('heading', { level: NaN }),
        element('heading', { level: null }),
        element('code_block', { params: '```\n# x' }),
        element('image', { src: 'javascript:alert(1)', alt: '](x)' }),
        element('ordered_list', { order: 1e300 }),
        element('ordered_list', { order: -1 }),
        element('table'),
        element('hard_break'),
        element('text'),
        element(''),
        element('doc'),
        element('a b'),
        element('__proto__'),
        element('x'.repeat(60_000)),
      ]),
  'text at the top': (doc) =>
    doc
      .getXmlFragment('richtext')
      .insert(0, [new Y.XmlText('top'), element('paragraph'), new Y.XmlText('top2')]),
  'marks that are objects': (doc) => {
    const block = element('paragraph')
    doc.getXmlFragment('richtext').insert(0, [block])
    const text = new Y.XmlText('some words here')
    block.insert(0, [text])
    text.format(0, 4, { link: { href: 'x](y)\n# z', title: '"' } })
    text.format(2, 8, { strong: true, em: [1, 2], code: null, strikethrough: { a: { b: {} } } })
    text.format(0, 15, { ['m'.repeat(1000)]: 1 })
    for (let index = 0; index < 1000; index++) text.format(index % 10, 3, { [`k${index}`]: index })
  },
  'embeds in a text': (doc) => {
    const block = element('paragraph')
    doc.getXmlFragment('richtext').insert(0, [block])
    const text = new Y.XmlText('ab')
    block.insert(0, [text])
    text.insertEmbed(1, { x: 1 })
    text.insertEmbed(1, new Y.Map())
  },
  'a map for the fragment': (doc) => doc.getMap('richtext').set('a', 1),
  'an array for the fragment': (doc) => doc.getArray('richtext').push([1, { a: 2 }, 's']),
  'a text for the fragment': (doc) => doc.getText('richtext').insert(0, 'plain text'),
  'a text for the front matter': (doc) => doc.getText('frontmatter').insert(0, 'plain text'),
  'an array for the memory of the source': (doc) => doc.getArray('markdown-source').push([1, 2]),
  'odd front matter': (doc) => {
    const map = doc.getMap('frontmatter')
    const values = {
      nan: NaN,
      infinite: Infinity,
      negative: -0,
      big: 2n ** 62n,
      nothing: null,
      nested: { a: { b: [1, { c: 'x' }] } },
      arrays: [[[[1]]]],
      bytes: new Uint8Array([1, 2]),
      date: '2026-01-01',
      yes: 'yes',
      number: '1e3',
      colon: 'a: b',
      dash: '- x',
      hash: '# x',
      quotes: '"\'',
      lines: 'a\nb',
      control: '\u0001\u0000',
      fence: '---\nx',
      anchor: '&a',
      tag: '!!x',
      star: '*a',
      brace: '{a}',
      long: 'x'.repeat(100_000),
      '': 'no key',
      'a: b': 1,
      '---': 1,
      '\n': 1,
      constructor: 2,
      '\u0000': 1,
    }
    for (const [key, value] of Object.entries(values)) map.set(key, value)
    map.set('__proto__', 1)
    map.set('x'.repeat(60_000), 1)
    map.set('undefined', undefined)
    map.set('map', new Y.Map([['a', 1]]))
    map.set('text', new Y.Text('t'))
    map.set('document', new Y.Doc())
  },
  'many keys of front matter': (doc) => {
    const map = doc.getMap('frontmatter')
    for (let index = 0; index < MANY; index++) map.set(`k${index}`, index)
  },
  'an odd memory of the source': (doc) => {
    const map = doc.getMap('markdown-source')
    map.set('front', '99999999999 4\n---\n')
    map.set('front2', 1)
    map.set('x'.repeat(1000), 'y')
    map.set('front', '4 4\n---\n[[[[\n---\n')
    map.set('blocks', [NaN, {}])
  },
  'odd conversions': (doc) => {
    const map = doc.getMap('fs:conv')
    map.set('12345', [1e300, 'richtext', -5, new Uint8Array([255, 255, 255])])
    map.set('x', null)
    map.set('4503599627370496', [
      9007199254740991,
      'text',
      2147483647,
      new Uint8Array([0, 1, 5, 255, 255, 255, 255, 7]),
    ])
    map.set('9:9:9', [1, 'richtext', 0, new Uint8Array(0)])
  },
}

const text = {
  'inserts at both ends': (doc) => {
    const root = doc.getText('text')
    for (let index = 0; index < MANY; index++) root.insert(index % 2 === 0 ? root.length : 0, 'x')
  },
  'inserts everywhere': (doc) => {
    const root = doc.getText('text')
    root.insert(0, 'x'.repeat(1000))
    for (let index = 0; index < MANY; index++) root.insert((index * 7919) % root.length, 'y')
  },
  'many deletions': (doc) => {
    const root = doc.getText('text')
    root.insert(0, 'x'.repeat(3 * MANY))
    for (let index = 0; index < MANY; index++) root.delete(index, 1)
  },
  'formats and embeds': (doc) => {
    const root = doc.getText('text')
    root.insert(0, 'hello world')
    for (let index = 0; index < 2000; index++) {
      root.format(index % 9, 2, { [`b${index % 50}`]: { o: index } })
    }
    root.insertEmbed(3, { image: 'x' })
    root.insertEmbed(4, new Y.XmlElement('p'))
  },
  'halves of characters': (doc) => {
    const root = doc.getText('text')
    root.insert(0, '😀😀')
    root.insert(1, 'x')
    root.delete(0, 1)
    root.insert(0, '\u0000\ufeff\u202e\ud800')
  },
  'a text over the limit': (doc) => doc.getText('text').insert(0, 'x'.repeat(9 << 20)),
  'a map for the text': (doc) => doc.getMap('text').set('a', 1),
  'a fragment for the text': (doc) =>
    doc.getXmlFragment('text').insert(0, [element('p'), new Y.XmlText('z')]),
  'documents inside': (doc) => {
    const map = doc.getMap('subs')
    for (let index = 0; index < 500; index++) {
      map.set(`s${index}`, new Y.Doc({ guid: 'same', autoLoad: true, meta: { a: 1 } }))
    }
    for (let index = 0; index < 250; index++) map.delete(`s${index}`)
  },
  'many keys of another root': (doc) => {
    const map = doc.getMap('other')
    for (let index = 0; index < MANY; index++) map.set(`k${index}`, index)
  },
  'one key set many times': (doc) => {
    const map = doc.getMap('other')
    for (let index = 0; index < MANY; index++) map.set('k', index)
  },
  'odd notes': (doc) =>
    doc
      .getArray('fs:log')
      .insert(0, [
        null,
        5,
        'x',
        [],
        {},
        { actor: 5, at: 'x' },
        { actor: `human:${'x'.repeat(1000)}`, at: 1 },
        { actor: 'human:a', at: NaN },
        { actor: 'human:a', at: 1e300, label: 'l'.repeat(1000) },
        { actor: 'root:x', at: 1 },
        { actor: 'human:a', at: 1, was: new Uint8Array([255, 255, 255, 255, 255]) },
        { actor: 'human:a', at: 1, more: new Uint8Array([1, 0]) },
        { actor: 'human:owner', at: 1, client: 1, from: 0 },
        { actor: 'human:owner', at: 1, client: 2 ** 53, from: -1 },
        { actor: 'human:owner\u202e\n', at: 1 },
      ]),
  'many notes': (doc) =>
    doc.getArray('fs:log').insert(
      0,
      times(MANY, (index) => ({ actor: `human:a${index}`, at: index, label: 'x' })),
    ),
  'a chain of notes': (doc) => {
    const log = doc.getArray('fs:log')
    for (let index = 0; index < 3000; index++) {
      const before =
        index === 0
          ? { was: new Uint8Array([0, 0]) }
          : { more: numbers(doc.clientID, index - 1, 0, 0) }
      log.insert(0, [{ actor: 'human:a', at: index, ...before }])
    }
  },
  'a cycle of notes': (doc) => {
    const more = (clock) => numbers(doc.clientID, clock, 0, 0)
    doc.getArray('fs:log').insert(0, [
      { actor: 'human:a', at: 1, more: more(1) },
      { actor: 'human:b', at: 2, more: more(0) },
      { actor: 'human:c', at: 3, more: more(2) },
    ])
  },
  'many labels': (doc) =>
    doc.getArray('fs:labels').insert(
      0,
      times(5000, (index) => ({
        actor: 'human:a',
        at: index,
        name: `n${index}`,
        was: new Uint8Array([0, 0]),
      })),
    ),
  'odd redactions': (doc) => {
    const root = doc.getText('text')
    root.insert(0, 'secret')
    doc
      .getArray('fs:redactions')
      .insert(0, [
        { actor: 'human:a', at: 1, label: 'x', ranges: new Uint8Array(BEYOND) },
        { actor: 'human:a', at: 1, ranges: new Uint8Array([1, 5, 1, 0, ...BEYOND]) },
        { ranges: numbers(1, doc.clientID, 1, 0, 6) },
        {},
        null,
      ])
    root.delete(0, 6)
  },
  'many redactions': (doc) => {
    const root = doc.getText('text')
    root.insert(0, 'secret'.repeat(100))
    doc.getArray('fs:redactions').insert(
      0,
      times(5000, (index) => ({
        actor: 'human:a',
        at: index,
        label: 'x',
        ranges: numbers(1, doc.clientID, 1, index % 600, 1),
      })),
    )
    root.delete(0, 300)
  },
  'odd blobs': (doc) => {
    const blobs = doc.getArray('fs:blobs')
    blobs.push([
      { hash: 'zz', size: 1 },
      { hash: HASH, size: -1 },
      { hash: HASH, size: 1e300, at: 1 },
      { hash: HASH, size: 5, at: 1, prev: ['x', '1:1', '99999999999999999999:0'] },
      { hash: HASH, size: 5, at: 1, mime: 'text/html\r\nX-Evil: 1', actor: 'human:a' },
    ])
    blobs.push(
      times(2000, (index) => ({
        hash: HASH,
        size: 5,
        at: index,
        actor: 'human:a',
        prev: [`${doc.clientID}:${index + 4}`],
      })),
    )
  },
  'unknown roots': (doc) => {
    for (let index = 0; index < MANY; index++) doc.getMap(`root${index}`).set('a', 1)
  },
}

for (const [extension, cases] of Object.entries({ md: markdown, txt: text })) {
  for (const [name, fill] of Object.entries(cases)) {
    const doc = new Y.Doc({ gc: false })
    doc.transact(() => fill(doc))
    const update = Buffer.from(Y.encodeStateAsUpdate(doc)).toString('hex')
    process.stdout.write(`${JSON.stringify({ extension, name, update })}\n`)
  }
}
