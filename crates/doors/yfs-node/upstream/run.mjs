// Runs just-bash's own test suite twice, over its filesystem in memory and over workspaces, and says which tests pass over the one and
// not over the other. This is acceptance, not part of the package's tests: the suite is in the repository of just-bash, not in its package.
// (That of 2.6.0 is also in the source package of the Python port: `pip download --no-deps --no-binary :all: just-bash==0.2.1`.)
//
//   git clone https://github.com/vercel-labs/just-bash && npm --prefix just-bash install --ignore-scripts
//   YFS_NODE_ADDON=target/release/yfs.node node crates/doors/yfs-node/upstream/run.mjs just-bash [posix | collab] [filters...]
//
// What is expected to fail is in `expected-POLICY.txt`, one test a line; the run fails if anything else does, or if one of those passes.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const [checkout, policy = 'posix', ...filters] = process.argv.slice(2)
const root = [join(checkout, 'packages/just-bash'), checkout].map((it) => resolve(it)).find((it) => existsSync(join(it, 'src')))
const folder = mkdtempSync(join(tmpdir(), 'yfs-upstream-'))

/** Runs the suite, and returns how each test ended. */
function run(name, env) {
  const report = join(folder, `${name}.json`)
  const args = ['vitest', 'run', '--config', here('vitest.config.mjs'), '--reporter=json', `--outputFile=${report}`, ...filters]
  const options = { cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] }
  spawnSync('npx', args, options)
  const results = new Map()
  for (const { name: file, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    for (const { fullName, status, failureMessages } of assertionResults) {
      results.set(`${relative(root, file)}: ${fullName}`.replaceAll('\n', ' '), { status, why: failureMessages[0] ?? '' })
    }
  }
  return results
}

const [theirs, ours] = [run('theirs', { YFS_BASELINE: '1' }), run('ours', { YFS_POLICY: policy })]
rmSync(folder, { recursive: true })
const passing = [...theirs].filter(([, { status }]) => status === 'passed').map(([name]) => name)
const failing = passing.filter((name) => ours.get(name)?.status !== 'passed')
const list = here(`expected-${policy}.txt`)
const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n') : []
const expected = new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))
console.log(`${passing.length} tests pass over InMemoryFs, ${passing.length - failing.length} of them over a workspace (${policy})`)
const surprises = failing.filter((name) => !expected.has(name))
for (const name of surprises) console.log(`FAILS ${name}\n  ${(ours.get(name)?.why ?? 'did not run').split('\n').slice(0, 6).join('\n  ')}`)
const mended = [...expected].filter((name) => ours.get(name)?.status === 'passed')
for (const name of mended) console.log(`PASSES AGAIN ${name}`)
process.exitCode = surprises.length + mended.length > 0 ? 1 : 0
