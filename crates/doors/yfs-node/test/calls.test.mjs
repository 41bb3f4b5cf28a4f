// Random scripts of calls, compared call by call with just-bash's own filesystem in memory:
// results, messages, codes, trees. They call every method of an `IFileSystem`, also those that are
// optional, synchronous or not declared.
//
// What differs by decision (docs/decisions/0019-calls-of-shells.md) is left out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InMemoryFs } from 'just-bash'
import { chance, inMemory, outcome, treeOf } from './support.mjs'

const PATHS = [
  '/a',
  '/b.md',
  '/d',
  '/d/e',
  '/d/f',
  '/d/g/h',
  '/x/y',
  '/d/../a',
  '//d//e/',
  '/none/deep/er',
  '/l',
  '/',
  '',
  'd/e',
  './a',
  '/nul\0',
  '/ ',
  '/日本/ü',
  '/d/e/../../..',
]
const CONTENTS = [
  '',
  'text\n',
  'one\ntwo\n',
  'é',
  new Uint8Array([0, 255, 128]),
  '# Title\n\ntext\n',
  '\ufeffmark\r\n',
  'aGk=',
  '6869',
]
const IS_ENCODED = { base64: /^([\w+/]{4})*([\w+/]{2,3}=*)?$/, hex: /^([0-9a-f]{2})*$/ }
const ENCODINGS = [
  undefined,
  undefined,
  'utf8',
  'binary',
  'latin1',
  'base64',
  'hex',
  'ascii',
  { encoding: 'binary' },
  { encoding: null },
]
const METAS = [undefined, { mode: 0o755 }, { mtime: new Date(1_500_000_000_000) }]

/** Paths, including some of the system's. */
const SYSTEM_PATHS = [
  '/a',
  '/d',
  '/d/e',
  '/d/g/h',
  '/dev/out',
  '/dev',
  '/usr/bin/x',
  '/usr/bin',
  '/bin',
  '/proc/self/status',
  '//dev/../usr/',
  '/',
]

/** What may be called, and with what. */
const callsOn = (PATHS) => ({
  writeFile: (r) => [r.pick(PATHS), r.pick(CONTENTS), r.pick(ENCODINGS)],
  appendFile: (r) => [r.pick(PATHS), r.pick(CONTENTS), r.pick(ENCODINGS)],
  readFile: (r) => [r.pick(PATHS), r.pick(ENCODINGS)],
  readFileBuffer: (r) => [r.pick(PATHS)],
  readFileBytes: (r) => [r.pick(PATHS)],
  resolvePath: (r) => [r.pick(PATHS), r.pick([...PATHS, '..', '../x', '.', 'a/./b//c'])],
  getAllPaths: () => [],
  mkdirSync: (r) => [r.pick(PATHS), r.pick([undefined, { recursive: true }])],
  writeFileSync: (r) => [r.pick(PATHS), r.pick(CONTENTS), r.pick(ENCODINGS), r.pick(METAS)],
  writeFileLazy: (r) => [r.pick(PATHS), later(r.pick(CONTENTS)), r.pick(METAS)],
  exists: (r) => [r.pick(PATHS)],
  stat: (r) => [r.pick(PATHS)],
  lstat: (r) => [r.pick(PATHS)],
  mkdir: (r) => [r.pick(PATHS), r.pick([undefined, { recursive: true }])],
  readdir: (r) => [r.pick(PATHS)],
  readdirWithFileTypes: (r) => [r.pick(PATHS)],
  rm: (r) => [
    r.pick(PATHS),
    r.pick([undefined, { recursive: true }, { force: true }, { recursive: true, force: true }]),
  ],
  cp: (r) => [r.pick(PATHS), r.pick(PATHS), r.pick([undefined, { recursive: true }])],
  mv: (r) => [r.pick(PATHS), r.pick(PATHS)],
  chmod: (r) => [r.pick(PATHS), r.pick([0o755, 0o600, 0o4755])],
  symlink: (r) => [r.pick(['/a', 'e', '../a', '/none', '/d']), r.pick(PATHS)],
  link: (r) => [r.pick(PATHS), r.pick(PATHS)],
  readlink: (r) => [r.pick(PATHS)],
  realpath: (r) => [r.pick(PATHS)],
  utimes: (r) => [r.pick(PATHS), new Date(0), new Date(1_600_000_000_000)],
})

/** Makes the content of a lazy file, which shows as what it is. */
function later(content) {
  return Object.assign(async () => content, { toJSON: () => `() => ${JSON.stringify(content)}` })
}

/**
 * The indexes of the arguments that name the changed objects: their parents must be directories.
 */
const CHANGES = {
  writeFile: [0],
  appendFile: [0],
  mkdir: [0],
  rm: [0],
  cp: [0, 1],
  mv: [0, 1],
  chmod: [0],
  symlink: [1],
  link: [0, 1],
  mkdirSync: [0],
  writeFileSync: [0],
  writeFileLazy: [0],
}

/** What calls are made: on which paths, by which policy, which not. */
const KINDS = {
  'policy posix': { calls: callsOn(PATHS) },
  'policy collab': {
    calls: callsOn(PATHS),
    policy: 'collab',
    without: ['chmod', 'symlink', 'link'],
  },
  'system directories': { calls: callsOn(SYSTEM_PATHS), without: ['symlink'] },
}

for (const [kind, { calls, policy, without = [] }] of Object.entries(KINDS)) {
  test(`random scripts end as over the filesystem in memory: ${kind}`, async (t) => {
    const names = Object.keys(calls).filter((name) => !without.includes(name))
    for (let seed = 0; seed < 100; seed += 1) {
      const ours = (await inMemory(t)).asIFileSystem({ policy })
      const theirs = new InMemoryFs()
      const random = chance(seed)
      const script = []
      for (let step = 0; step < 40; step += 1) {
        const name = random.pick(names)
        const args = calls[name](random)
        // Under the policy collab there are no modes.
        if (policy === 'collab' && args[3]?.mode !== undefined) args.pop()
        if (policy === 'collab' && name === 'writeFileLazy') args[2] = undefined
        if (await differsByDecision(theirs, name, args)) continue
        script.push(`${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`)
        const [expected, got] = [
          await outcome(() => theirs[name](...args)),
          await outcome(() => ours[name](...args)),
        ]
        assert.deepEqual(plain(got), plain(expected), `seed ${seed}:\n${script.join('\n')}`)
        if (got.error) assert.equal(got.code, got.error.split(':')[0])
      }
      assert.equal(
        await treeOf(ours, ['/']),
        await treeOf(theirs, ['/']),
        `seed ${seed}:\n${script.join('\n')}`,
      )
    }
  })
}

async function differsByDecision(fs, name, args) {
  if (name === 'resolvePath' || name === 'getAllPaths') return false
  // The root stays.
  if (!/chmod|mkdir/.test(name))
    for (const index of CHANGES[name] ?? [])
      if (fs.resolvePath('/', args[index]) === '/') return true
  // What is no base64 or hex is read as far as it is.
  if (typeof args[1] === 'string' && IS_ENCODED[args[2]] && !IS_ENCODED[args[2]].test(args[1]))
    return true
  const kinds = await Promise.all((CHANGES[name] ?? []).map((index) => kindOf(fs, args[index])))
  for (const index of CHANGES[name] ?? [])
    if (!(await wayIsOfDirectories(fs, args[index]))) return true
  const isLexical = ['readdir', 'readdirWithFileTypes', 'readlink'].includes(name)
  if (!(name in CHANGES) && !(await wayIsOfDirectories(fs, args[0], !isLexical))) return true
  if (/^writeFile/.test(name)) return kinds[0] === 'directory'
  // Adding nothing is no change, not of the time either.
  if (name === 'appendFile' && kinds[0] === 'file' && args[1].length === 0) return true
  if (name === 'appendFile' || name === 'chmod') return kinds[0] === 'link'
  // What is copied or moved keeps its mode and time, directories as well as files.
  if ((name === 'cp' || name === 'mv') && (await hasOddDirectories(fs, args[0]))) return true
  if (name === 'cp' || name === 'mv')
    return (kinds[0] !== kinds[1] && kinds[1] !== 'nothing') || kinds[1] === 'directory'
  return false
}

async function hasOddDirectories(fs, path) {
  if ((await kindOf(fs, path)) !== 'directory') return false
  if ((await fs.stat(path)).mode !== 0o755) return true
  const names = await fs.readdir(path)
  return (
    await Promise.all(names.map((name) => hasOddDirectories(fs, `${path}/${name}`)))
  ).includes(true)
}

async function kindOf(fs, path) {
  const stat = await fs.lstat(path).catch(() => undefined)
  return !stat ? 'nothing' : stat.isSymbolicLink ? 'link' : stat.isDirectory ? 'directory' : 'file'
}

async function wayIsOfDirectories(fs, path, mayBeLinks = false) {
  const names = fs.resolvePath('/', path).split('/').slice(1, -1)
  let at = ''
  for (const name of names) {
    at += `/${name}`
    const kind = await kindOf(fs, at)
    if (kind === 'file' || (kind === 'link' && !mayBeLinks)) return false
  }
  return true
}

/** Leaves out what cannot be equal: identities, and times that no call set. */
function plain(result) {
  const value = result.value
  // In the order in which they were made, or by name.
  if (Array.isArray(value) && typeof value[0] === 'string') return { value: value.toSorted() }
  if (value && typeof value === 'object' && 'mtime' in value) {
    const { mtime, identity, ...rest } = value
    return { value: { ...rest, hasIdentity: identity !== undefined } }
  }
  return { value, error: result.error }
}
