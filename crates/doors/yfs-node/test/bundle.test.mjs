// A program that was bundled with the package finds the addon: beside the bundle, or in a
// `node_modules` above it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { temporary } from './support.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))

const ADDON = process.env.YFS_NODE_ADDON ?? join(PACKAGE, 'yfs.node')

const PROGRAM = `
import { Workspace } from 'yfs'
void (async () => {
  const ws = await Workspace.open(':memory:')
  await ws.files.writeFile('/a.txt', 'from a bundle')
  console.log(await ws.files.readText('/a.txt'))
  await ws.close()
})()`

/** Bundles the program into a folder of its own, and returns where it is. */
async function bundled(t, format) {
  const folder = temporary(t, '')
  const outfile = join(folder, 'out', format === 'esm' ? 'program.mjs' : 'program.cjs')
  const stdin = { contents: PROGRAM, resolveDir: folder }
  const alias = { yfs: join(PACKAGE, 'dist/index.js') }
  await build({
    stdin,
    alias,
    outfile,
    format,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
  })
  return { folder, outfile }
}

function run(outfile) {
  const { YFS_NODE_ADDON: _addon, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [outfile], {
    env,
    cwd: '/',
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const RAN = { status: 0, stdout: 'from a bundle\n', stderr: '' }

for (const format of ['esm', 'cjs']) {
  test(`a bundle finds the addon beside it (${format})`, async (t) => {
    const { folder, outfile } = await bundled(t, format)
    symlinkSync(ADDON, join(folder, 'out/yfs.node'))
    assert.deepEqual(run(outfile), RAN)
  })

  test(`a bundle finds the addon of an installed package (${format})`, async (t) => {
    const { folder, outfile } = await bundled(t, format)
    const installed = join(folder, 'node_modules/yfs')
    mkdirSync(installed, { recursive: true })
    symlinkSync(join(PACKAGE, 'package.json'), join(installed, 'package.json'))
    symlinkSync(ADDON, join(installed, 'yfs.node'))
    assert.deepEqual(run(outfile), RAN)
  })

  test(`a bundle without an addon says where it looked (${format})`, async (t) => {
    const { folder, outfile } = await bundled(t, format)
    writeFileSync(join(folder, 'out/other.node'), '')
    const { status, stderr } = run(outfile)
    assert.equal(status, 1)
    assert.ok(stderr.includes(join(folder, 'out/yfs.node')), stderr)
  })
}
