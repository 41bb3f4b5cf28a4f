// What the tests share: workspaces that are closed at the end, random numbers from a seed, trees as
// text.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Workspace } from '../dist/index.js'

/** Opens a workspace in memory for one test. */
export async function inMemory(t, options = {}) {
  const ws = await Workspace.open(':memory:', options)
  t.after(() => ws.close())
  return ws
}

/** Returns the path of a file in a directory that is removed at the end of the process. */
export function temporary(_t, name) {
  const folder = mkdtempSync(join(tmpdir(), 'yfs-node-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}

/** Returns a source of chance: the same numbers for the same seed (mulberry32). */
export function chance(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit) => Math.floor(next() * limit)
  return { below, pick: (items) => items[below(items.length)] }
}

/** What is older was not made by the test, but set. */
const STARTED = Date.UTC(2025, 0, 1)

/**
 * Returns the tree of an `IFileSystem` below these directories as text: kinds, modes, contents,
 * targets, and the times of files that were set.
 */
export async function treeOf(fs, roots) {
  const lines = []
  const visit = async (path) => {
    const stat = await fs.lstat(path)
    const mode = stat.mode.toString(8)
    if (stat.isSymbolicLink) lines.push(`${path} -> ${await fs.readlink(path)}`)
    else if (stat.isDirectory) {
      lines.push(`${path}/ ${mode}`)
      for (const name of await fs.readdir(path))
        await visit(path === '/' ? `/${name}` : `${path}/${name}`)
    } else
      lines.push(
        `${path} ${mode}${timeOf(stat)} ${stat.size} ` +
          JSON.stringify(await fs.readFile(path, 'binary')),
      )
  }
  for (const root of roots) if (await fs.exists(root)) await visit(root)
  return lines.join('\n')
}

function timeOf({ mtime }) {
  return Number(mtime) < STARTED ? ` ${mtime.toISOString()}` : ''
}

/** Says how a call ended: what it returned, or its message and code. */
export async function outcome(call) {
  try {
    return { value: await call() }
  } catch (error) {
    return { error: error.message, code: error.code }
  }
}
