// Random scripts of calls, one by one over `asNodeFs()` and over `node:fs` in a temporary
// directory: results, codes, messages.
//
// What is left out differs by decision (docs/decisions/0018-a-workspace-as-node-fs.md).
// `YFS_NODEFS_SEEDS=1000-2000` runs other seeds.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { posix } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { chance, inMemory, temporary } from './support.mjs'

const NAMES = ['/a', '/b.md', '/d', '/d/e', '/d/f.txt', '/d/g', '/d/g/h', '/l', '/l/m', '/n.bin']
const ODD = [
  '/d/../a',
  '//d//e/',
  '/a/',
  '/d/',
  '/d/.',
  '/d/g/..',
  '/l/..',
  '/l/../a',
  '/none/deep',
  '/a/below',
  '/none/../a',
  '/',
  '/é\u0301',
  `/${'x'.repeat(256)}`,
  `/d/${'y'.repeat(255)}`,
]
const DATA = [
  '',
  'text\n',
  'one\ntwo\nthree\n',
  'héllo',
  Buffer.from([0, 255, 128, 10]),
  '# Title\n\n* item\n',
  'x'.repeat(300),
]
const FLAGS = ['r', 'r+', 'w', 'wx', 'w+', 'a', 'ax', 'a+', 'wx+', 'rs+']
const TIMES = [0, 1, 1_600_000_000, new Date(1_700_000_000_000), '1500000000', 1_650_000_000.5]
const MODES = [0o755, 0o644, 0o600, 0o700, 0o4755]

const some = (r, ...values) => r.pick([undefined, ...values])
const path = (r) => (r.below(6) === 0 ? r.pick(ODD) : r.pick(NAMES))

/**
 * The calls, their frequency, and their arguments. `fd` stands for an open file, `root:` for a path
 * that begins at the root.
 */
const CALLS = {
  writeFile: [
    6,
    (r) => [
      path(r),
      r.pick(DATA),
      some(
        r,
        'utf8',
        { flag: 'wx' },
        { flag: 'r+' },
        { flag: 'a' },
        { mode: 0o600 },
        { encoding: 'latin1' },
      ),
    ],
  ],
  appendFile: [3, (r) => [path(r), r.pick(DATA), some(r, 'hex')]],
  readFile: [
    4,
    (r) => [
      path(r),
      some(r, 'utf8', { encoding: 'base64' }, { flag: 'r+' }, { encoding: 'latin1' }),
    ],
  ],
  readdir: [3, (r) => [path(r), some(r, { withFileTypes: true }, 'buffer', { encoding: 'hex' })]],
  stat: [3, (r) => [path(r), some(r, { bigint: true })]],
  lstat: [3, (r) => [path(r)]],
  access: [1, (r) => [path(r), some(r, fs.constants.R_OK, fs.constants.W_OK, fs.constants.X_OK)]],
  exists: [1, (r) => [path(r)]],
  mkdir: [
    4,
    (r) => [
      path(r),
      some(r, { recursive: true }, 0o700, { mode: '0750' }, { recursive: true, mode: 0o711 }),
    ],
  ],
  rm: [
    2,
    (r) => [
      path(r),
      some(r, { recursive: true }, { force: true }, { recursive: true, force: true }),
    ],
  ],
  rmdir: [2, (r) => [path(r)]],
  unlink: [2, (r) => [path(r)]],
  rename: [4, (r) => [path(r), path(r)]],
  copyFile: [3, (r) => [path(r), path(r), some(r, fs.constants.COPYFILE_EXCL)]],
  symlink: [
    3,
    (r) => [r.pick(['a', 'root:/a', 'root:/d', 'd/g', './g', 'none', 'l', '']), path(r)],
  ],
  link: [1, (r) => [path(r), path(r)]],
  readlink: [2, (r) => [path(r), some(r, 'buffer')]],
  realpath: [2, (r) => [path(r)]],
  chmod: [2, (r) => [path(r), r.pick([...MODES, '711'])]],
  utimes: [2, (r) => [path(r), 0, r.pick(TIMES)]],
  truncate: [2, (r) => [path(r), some(r, 0, 3, 400)]],
  open: [5, (r) => [path(r), r.pick(FLAGS), some(r, 0o600)]],
  close: [4, () => ['fd']],
  fstat: [2, () => ['fd']],
  ftruncate: [2, (r) => ['fd', some(r, 0, 2, 350)]],
  read: [4, (r) => ['fd', 'buffer', r.below(3), r.below(6), r.pick([null, 0, 3])]],
  write: [4, (r) => ['fd', r.pick(DATA), ...some2(r)]],
  writev: [1, (r) => ['fd', [Buffer.from('v1'), Buffer.from('v22')], some(r, null, 1)]],
  fchmod: [1, (r) => ['fd', r.pick(MODES)]],
  futimes: [1, (r) => ['fd', 0, r.pick(TIMES)]],
  fsync: [1, () => ['fd']],
}
const BAG = Object.entries(CALLS).flatMap(([name, [weight]]) => Array(weight).fill(name))

function some2(r) {
  return r.pick([[], [null], [0], [2]])
}

/** Two filesystems that shall do the same, each with a root of its own. */
class Pair {
  constructor(ours, root) {
    this.sides = [
      { fs: ours, root: '', fds: [] },
      { fs, root, fds: [] },
    ]
  }

  /** Calls both in one of the three ways, and returns what each answered. */
  async call(name, args, way, fdIndex) {
    const answers = []
    for (const side of this.sides) {
      const buffer = Buffer.alloc(8)
      const given = args.map((arg) => this.#given(arg, side, fdIndex, buffer))
      while (given.length > 0 && given.at(-1) === undefined) given.pop()
      const answer = await outcome(() => invoke(side, name, given, way))
      if (name === 'open' && 'value' in answer) {
        side.fds.push(answer.value)
        answer.value = 'fd'
      }
      if (name === 'close' && 'value' in answer) side.fds.splice(fdIndex, 1)
      if (name === 'read') answer.buffer = buffer.toString('hex')
      answers.push(plain(answer, side.root, args, name))
    }
    // Writing what is there already does not change it, and not its time.
    if (answers[1].value?.mtime?.length === 0) answers[0].value.mtime = []
    return answers
  }

  #given(arg, side, fdIndex, buffer) {
    if (arg === 'fd') return side.fds[fdIndex] ?? 999_999
    if (arg === 'buffer') return buffer
    if (typeof arg === 'string' && arg.startsWith('root:')) return side.root + arg.slice(5)
    return typeof arg === 'string' && arg.startsWith('/') ? side.root + arg : arg
  }

  closeAll() {
    for (const { fs, fds } of this.sides) for (const fd of fds) fs.closeSync(fd)
  }
}

function invoke({ fs }, name, args, way) {
  const hasPromise = name in fs.promises && name !== 'open'
  if (way === 'promise' && hasPromise) return fs.promises[name](...args)
  if (way === 'callback') return promisify(fs[name])(...args)
  return fs[`${name}Sync`](...args)
}

async function outcome(call) {
  try {
    return { value: await call() }
  } catch ({ code, message, syscall, path, dest, errno }) {
    return { code, message, syscall, path, dest, errno }
  }
}

/** Leaves out what cannot be equal: roots, times that no call set, numbers of a device. */
function plain(answer, root, args, name) {
  const strip = (text) => (root === '' ? text : text === root ? '/' : text.replaceAll(root, ''))
  const normalized = (value) => {
    if (typeof value === 'string') return strip(value)
    if (typeof value === 'bigint') return `${value}n`
    if (Buffer.isBuffer(value))
      return `buffer ${name === 'readlink' ? strip(value.toString()) : value.toString('hex')}`
    if (Array.isArray(value))
      return value.map(normalized).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    if (typeof value?.isDirectory === 'function')
      return value.name === undefined ? statOf(value) : direntOf(value, normalized)
    if (value?.bytesRead !== undefined) return value.bytesRead
    if (value?.bytesWritten !== undefined) return value.bytesWritten
    return value
  }
  const shown = {}
  for (const [key, value] of Object.entries(answer))
    if (value !== undefined) shown[key] = normalized(value)
  // Its message has the path that was resolved so far.
  if (name === 'mkdir' && shown.value)
    return { value: posix.join(shown.value, '.').replace(/\/$/, '') }
  // What is said of a broken link on the way is not the same at once as with a callback.
  if (name === 'mkdir' && args[1]?.recursive && ['ENOENT', 'ENOTDIR'].includes(shown.code))
    return { code: 'ENOTDIR' }
  if (['realpath', 'rm'].includes(name) && shown.code) return { code: shown.code }
  return shown
}

function statOf(stat) {
  const is = ['isFile', 'isDirectory', 'isSymbolicLink', 'isFIFO'].filter((name) => stat[name]())
  const { mode, size, nlink } = stat
  const isSet = !stat.isDirectory() && Number(stat.mtimeMs) < 1_701_000_000_000
  const shown = {
    is,
    mode: stat.isSymbolicLink() ? 0 : `${mode}`,
    mtime: isSet ? [`${stat.mtimeMs}`, stat.mtime.getTime(), `${stat.mtimeNs}`] : [],
  }
  return stat.isFile() ? { ...shown, size: `${size}`, nlink: `${nlink}` } : shown
}

function direntOf(entry, normalized) {
  return {
    name: normalized(entry.name),
    is: ['isFile', 'isDirectory', 'isSymbolicLink'].filter((name) => entry[name]()),
    parent: normalized(entry.parentPath),
  }
}

/** Tells whether a call is answered in another way by decision. */
function differsByDecision(side, name, args) {
  const at = (index) => side.root + args[index]
  const known = (call) => {
    try {
      return call()
    } catch {
      return undefined
    }
  }
  const lstat = (index) => known(() => fs.lstatSync(at(index)))
  const stat = (index) => known(() => fs.statSync(at(index)))
  const isRoot = (index) => known(() => fs.realpathSync(at(index))) === side.root
  switch (name) {
    // A hard link is a copy of its own.
    case 'link':
      return lstat(0) !== undefined
    // What is copied onto is emptied by the host before it refuses a directory.
    case 'copyFile':
      return stat(0)?.isDirectory() === true
    // Node makes what is only passed through on the way to `..`.
    case 'mkdir':
      return args[0].includes('..') && args[1]?.recursive === true
    // A file that is replaced stays the file that it was, open descriptors and all.
    case 'rename':
      return isRoot(0) || isRoot(1) || (side.fds.length > 0 && lstat(1)?.isFile() === true)
    // The root of the one is a directory like any other.
    case 'rm':
    case 'rmdir':
    case 'chmod':
    case 'utimes':
      return isRoot(0)
    default:
      return false
  }
}

/** Writes a tree down: kinds, modes, contents, targets. */
function treeOf({ fs, root }) {
  const lines = []
  const visit = (path) => {
    const stat = fs.lstatSync(root + path)
    if (stat.isSymbolicLink())
      lines.push(`${path} -> ${fs.readlinkSync(root + path).replace(root, '')}`)
    else if (stat.isFile())
      lines.push(`${path} ${stat.mode} ${fs.readFileSync(root + path, 'hex')}`)
    else {
      lines.push(`${path} ${stat.mode}`)
      for (const name of fs.readdirSync(root + path).sort())
        visit(path === '/' ? `/${name}` : `${path}/${name}`)
    }
  }
  visit('/')
  return lines.slice(1).join('\n')
}

const [first, last] = (process.env.YFS_NODEFS_SEEDS ?? '0-80').split('-').map(Number)

test('random scripts end as over node:fs', async (t) => {
  process.umask(0o022)
  let n = 0
  for (let seed = first; seed < last; seed += 1) {
    const ws = await inMemory(t)
    const root = fs.realpathSync(temporary(t, '')).replace(/\/$/, '')
    fs.chmodSync(root, 0o755)
    const pair = new Pair(ws.asNodeFs(), root)
    const random = chance(seed)
    const script = []
    for (let step = 0; step < 60; step += 1) {
      const name = random.pick(BAG)
      const args = CALLS[name][1](random)
      const way = random.pick(['sync', 'callback', 'promise'])
      const fdIndex = random.below(Math.max(1, pair.sides[1].fds.length))
      if (differsByDecision(pair.sides[1], name, args, fdIndex)) continue
      script.push(
        `${way} ${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})` +
          (args[0] === 'fd' ? ` fd ${fdIndex}` : ''),
      )
      const [got, expected] = await pair.call(name, args, way, fdIndex)
      assert.deepEqual(got, expected, `seed ${seed}:\n${script.join('\n')}`)
      n += 1
    }
    pair.closeAll()
    assert.equal(
      treeOf(pair.sides[0]),
      treeOf(pair.sides[1]),
      `seed ${seed}:\n${script.join('\n')}`,
    )
    await ws.close()
  }
  t.diagnostic(`${n} calls`)
})
