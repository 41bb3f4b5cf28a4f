// Real Yjs behind a pipe: the oracle that the Rust tests ask.
//
// Reads one JSON request a line from stdin and writes one JSON reply a line to stdout. A request
// names an operation (`op`), mostly a document (`doc`, a name that the caller picks) and the
// operation's own fields. Bytes are hexadecimal. A reply is `{"ok": value}` or `{"error": text}`.
// Every operation that changes a document returns the updates that it emitted.

import { createInterface } from 'node:readline'
import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import * as Y from 'yjs'
import { LwwTable, winners } from './lww.mjs'

const docs = new Map()
const tables = new Map()

const toHex = (bytes) => Buffer.from(bytes).toString('hex')
const fromHex = (text) => new Uint8Array(Buffer.from(text, 'hex'))

function docOf({ doc }) {
  const found = docs.get(doc)
  if (found === undefined) throw new Error(`no document is named ${doc}`)
  return found
}

function tableOf(request) {
  const { doc, table = 'table:files' } = request
  const name = `${doc} ${table}`
  if (!tables.has(name)) tables.set(name, new LwwTable(docOf(request), table))
  return tables.get(name)
}

/** Runs `change` and returns what the document emitted meanwhile. */
function emitted(doc, change) {
  const updates = []
  const collect = (update) => updates.push(toHex(update))
  doc.on('update', collect)
  try {
    change()
  } finally {
    doc.off('update', collect)
  }
  return updates
}

/** A small generator of its own (mulberry32), so that a seed tells the whole history. */
function random(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below)
  }
}

const WORDS = [
  'the ',
  'on-call ',
  'naïve ',
  '東京 ',
  '😀',
  '👩‍👩‍👧‍👦',
  '🇨🇭 ',
  '\n',
  '\r\n',
  'e\u0301',
  '“quoted” ',
  'x',
  '\t',
]

/** Inserts and deletes at random places, never in the middle of a surrogate pair. */
function randomEdits(text, seed, nEdits) {
  const pick = random(seed)
  const onBoundary = (at) => {
    const content = text.toString()
    const unit = content.charCodeAt(at)
    return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
  }
  for (let n = 0; n < nEdits; n++) {
    const at = onBoundary(pick(text.length + 1))
    if (text.length > 0 && pick(3) === 0) {
      const end = onBoundary(Math.min(text.length, at + 1 + pick(12)))
      if (end > at) text.delete(at, end - at)
    } else {
      text.insert(at, WORDS[pick(WORDS.length)])
    }
  }
}

const operations = {
  new({ doc, client, gc = true, guid }) {
    const made = new Y.Doc({ gc, ...(guid === undefined ? {} : { guid }) })
    if (client !== undefined) made.clientID = client
    docs.set(doc, made)
    return made.clientID
  },
  drop({ doc }) {
    docs.get(doc)?.destroy()
    for (const name of tables.keys()) if (name.startsWith(`${doc} `)) tables.delete(name)
    return docs.delete(doc)
  },

  // Bytes.
  any_bytes: ({ value }) => toHex(encoding.encode((encoder) => encoding.writeAny(encoder, value))),
  any_value: ({ bytes }) => decoding.readAny(decoding.createDecoder(fromHex(bytes))),
  apply: (request) =>
    emitted(docOf(request), () => Y.applyUpdate(docOf(request), fromHex(request.update))),
  encode: (request) =>
    toHex(
      Y.encodeStateAsUpdate(
        docOf(request),
        request.sv === undefined ? undefined : fromHex(request.sv),
      ),
    ),
  sv: (request) => toHex(Y.encodeStateVector(docOf(request))),
  clocks: (request) => [...Y.getStateVector(docOf(request).store)].sort(([a], [b]) => a - b),
  incomplete: (request) => {
    const { store } = docOf(request)
    return store.pendingStructs !== null || store.pendingDs !== null
  },
  merge: ({ updates }) => toHex(Y.mergeUpdates(updates.map(fromHex))),
  v2_to_v1: ({ update }) => toHex(Y.convertUpdateFormatV2ToV1(fromHex(update))),
  structs({ update }) {
    const { structs, ds } = Y.decodeUpdate(fromHex(update))
    return {
      structs: structs.map((struct) => ({
        client: struct.id.client,
        clock: struct.id.clock,
        len: struct.length,
        kind: struct.content?.constructor.name ?? struct.constructor.name,
        origin: struct.origin ?? null,
        right: struct.rightOrigin ?? null,
        parent: typeof struct.parent === 'string' ? struct.parent : null,
      })),
      deleted: [...ds.clients].flatMap(([client, ranges]) =>
        ranges.map(({ clock, len }) => ({ client, start: clock, len })),
      ),
    }
  },
  n_structs: (request) =>
    [...docOf(request).store.clients.values()].reduce((sum, structs) => sum + structs.length, 0),

  // Tables.
  elements: (request) =>
    docOf(request)
      .getArray(request.table ?? 'table:files')
      .toArray(),
  rows(request) {
    const { byKey } = winners(
      docOf(request)
        .getArray(request.table ?? 'table:files')
        .toArray(),
    )
    return Object.fromEntries([...byKey].map(([key, { element }]) => [key, element]))
  },
  push: (request) =>
    emitted(docOf(request), () =>
      docOf(request)
        .getArray(request.table ?? 'table:files')
        .push(request.values),
    ),
  table_open: (request) => emitted(docOf(request), () => tableOf(request)),
  table_set: (request) =>
    emitted(docOf(request), () => tableOf(request).set(request.key, request.val, request.now)),
  // As the reference updates a row: what is there, spread, with some fields replaced.
  table_update: (request) =>
    emitted(docOf(request), () => {
      const table = tableOf(request)
      const before = table.get(request.key)
      if (before !== undefined)
        table.set(request.key, { ...before, ...request.changes }, request.now)
    }),
  table_delete: (request) => emitted(docOf(request), () => tableOf(request).delete(request.key)),
  table_get: (request) => tableOf(request).get(request.key) ?? null,

  // Text.
  text: (request) =>
    docOf(request)
      .getText(request.root ?? 'text')
      .toString(),
  text_length: (request) => docOf(request).getText(request.root ?? 'text').length,
  insert: (request) =>
    emitted(docOf(request), () =>
      docOf(request)
        .getText(request.root ?? 'text')
        .insert(request.at, request.text),
    ),
  delete: (request) =>
    emitted(docOf(request), () =>
      docOf(request)
        .getText(request.root ?? 'text')
        .delete(request.at, request.len),
    ),
  random_edits: (request) =>
    emitted(docOf(request), () =>
      randomEdits(docOf(request).getText(request.root ?? 'text'), request.seed, request.n_edits),
    ),

  // Other roots.
  roots: (request) => [...docOf(request).share.keys()].sort(),
  array: (request) => docOf(request).getArray(request.root).toJSON(),
  map: (request) => docOf(request).getMap(request.root).toJSON(),
  map_set: (request) =>
    emitted(docOf(request), () =>
      docOf(request).getMap(request.root).set(request.key, request.val),
    ),
  xml: (request) =>
    docOf(request)
      .getXmlFragment(request.root ?? 'richtext')
      .toString(),

  // History.
  snapshot: (request) => toHex(Y.encodeSnapshot(Y.snapshot(docOf(request)))),
  text_at(request) {
    const snapshot = Y.decodeSnapshot(fromHex(request.snapshot))
    return Y.createDocFromSnapshot(docOf(request), snapshot)
      .getText(request.root ?? 'text')
      .toString()
  },
  position: (request) => {
    const type = docOf(request).getText(request.root ?? 'text')
    return toHex(
      Y.encodeRelativePosition(
        Y.createRelativePositionFromTypeIndex(type, request.index, request.assoc ?? 0),
      ),
    )
  },
  resolve: (request) => {
    const position = Y.decodeRelativePosition(fromHex(request.position))
    return Y.createAbsolutePositionFromRelativePosition(position, docOf(request))?.index ?? null
  },
  same_snapshot: ({ a, b }) =>
    Y.equalSnapshots(Y.decodeSnapshot(fromHex(a)), Y.decodeSnapshot(fromHex(b))),
}

// JSON has no bytes, so they are spelt out. A BigInt would break the reference's clock, so it
// fails.
function spell(key, value) {
  if (typeof value === 'bigint')
    throw new Error(`a BigInt is on the wire, under ${JSON.stringify(key)}: ${value}`)
  if (value instanceof Uint8Array) return { $bytes: toHex(value) }
  return value === undefined ? null : value
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply
  try {
    const request = JSON.parse(line)
    const operation = operations[request.op]
    if (operation === undefined) throw new Error(`no operation is named ${request.op}`)
    reply = JSON.stringify({ ok: operation(request) }, spell)
  } catch (error) {
    reply = JSON.stringify({ error: `${error.name}: ${error.message}` })
  }
  process.stdout.write(`${reply}\n`)
}
