// Writes `fixtures/timestamp-order.json`: how JavaScript orders whatever may stand under `ts`, and
// which of several elements the rules of the table pick. Run in this directory:
// `node timestamp-order.mjs > ../../fixtures/timestamp-order.json`.

import * as encoding from 'lib0/encoding'
import { winners } from './lww.mjs'

const VALUES = [
  undefined,
  null,
  true,
  false,
  NaN,
  Infinity,
  -Infinity,
  0,
  -0,
  1,
  -1,
  1.5,
  10,
  9,
  2 ** 31,
  1795296141205,
  2 ** 53,
  1e21,
  1e-7,
  123456789012345680000,
  0.1,
  -2.5e-9,
  '',
  ' ',
  '0',
  '1',
  '10',
  '9',
  '1.5',
  ' 10\n',
  '\ufeff9',
  '\u00859',
  '+1',
  '-1',
  '1e3',
  '0x1f',
  '0b11',
  '0o17',
  '-0x1f',
  '1_000',
  '.5',
  '5.',
  '.',
  'Infinity',
  '-Infinity',
  'inf',
  'NaN',
  'nan',
  'abc',
  'b',
  'é',
  '😀',
  '\uffff',
  'undefined',
  'null',
  '1795296141206',
  '2026-11-21T21:19:10.581Z',
  '[object Object]',
  '1,2',
  '1e+21',
  '1e-7',
  'true',
  [],
  [5],
  ['5'],
  [null],
  [undefined],
  [1, 2],
  [[1], [2, 3]],
  [true],
  [{}],
  [1e21],
  [1e-7],
  [-0],
  [0.1],
  ['a', null, 'b'],
  [NaN],
  [10],
  {},
  { ts: 5 },
  new Uint8Array([1, 2]),
  new Uint8Array([7]),
  new Uint8Array([]),
]

const hex = (value) => {
  const encoder = encoding.createEncoder()
  encoding.writeAny(encoder, value)
  return Buffer.from(encoding.toUint8Array(encoder)).toString('hex')
}

const sign = (left, right) => (left < right ? '<' : left > right ? '>' : '=')

// A small generator (mulberry32), so that the file is the same each time.
let state = 7
const random = (below) => {
  state = (state + 0x6d2b79f5) >>> 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) % below
}

const groups = []
for (let n = 0; n < 600; n++) {
  const group = Array.from({ length: 2 + random(5) }, () => random(VALUES.length))
  const elements = group.map((ix) => ({ key: 'k', val: null, ts: VALUES[ix] }))
  groups.push([group, winners(elements).byKey.get('k').index])
}

const orders = VALUES.map((left) => VALUES.map((right) => sign(left, right)).join(''))
const lines = (values) => values.map((value) => JSON.stringify(value)).join(',\n')
console.log(
  `{"values": [\n${lines(VALUES.map(hex))}\n],\n"orders": [\n${lines(orders)}\n],\n` +
    `"groups": [\n${lines(groups)}\n]}`,
)
