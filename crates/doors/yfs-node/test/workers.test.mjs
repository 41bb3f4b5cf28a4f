// Worker threads that end while calls of theirs are in flight: the process goes on.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporary } from './support.mjs'

const SCRIPT = fileURLToPath(new URL('processes/workers.mjs', import.meta.url))

const ROUNDS = 8

for (const [kind, end, where] of [
  ['read', 'terminate', ':memory:'],
  ['write', 'terminate', ':memory:'],
  ['append', 'terminate', 'file'],
  ['grep', 'terminate', ':memory:'],
  ['shell', 'terminate', ':memory:'],
  ['nodefs', 'terminate', ':memory:'],
  ['watch', 'terminate', ':memory:'],
  ['port', 'terminate', ':memory:'],
  ['open', 'terminate', 'file'],
  ['history', 'terminate', 'file'],
  ['stats', 'terminate', ':memory:'],
  ['query', 'terminate', ':memory:'],
  ['artifacts', 'terminate', 'file'],
  ['close', 'terminate', 'file'],
  ['all', 'terminate', 'file'],
  ['all', 'exit', 'file'],
  ['read', 'exit', ':memory:'],
  ['watch', 'exit', ':memory:'],
]) {
  test(`a worker ends (${end}) with calls in flight: ${kind}, ${where}`, (t) => {
    const file = where === 'file' ? temporary(t, 'w.db') : where
    const { status, signal, stderr } = spawnSync(
      process.execPath,
      [SCRIPT, kind, end, String(ROUNDS), file],
      { encoding: 'utf8' },
    )
    assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' })
  })
}
