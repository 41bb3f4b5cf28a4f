// Statistics, previews, contexts and queries: their results, that these are those of the `yfs`
// command, their limits, and calls that are ended.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as later } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Workspace } from '../dist/index.js'
import { inMemory, temporary } from './support.mjs'

/** A file of each kind of statistics. */
const FILES = {
  '/data/api.json': '{"items": [{"id": 1, "kind": "gauge"}, {"id": 2, "kind": "pier"}], "n": 2}',
  '/data/array.json': '[{"id": 1, "place": "pier"}, {"id": 2, "place": null}]',
  '/data/lines.jsonl': '{"a": 1}\n{"a": "x"}\n',
  '/data/gauges.csv': 'gauge,place,installed\nG1,pier,2019\nG2,harbor,2021\nG3,,2024\n',
  '/data/deploy.yaml': 'image: tides:7\nports: [80, 443]\n---\nimage: gauges:2\n',
  '/web/page.html': '<!doctype html><title>Tides</title><h1>One</h1><a href="/x">x</a>',
  '/notes/plan.md': '---\ntitle: x\n---\n# Plan\n\n- Measure the tide\n\n## Later\n',
  '/notes/deep/log.txt': 'Mon calm\nTue storm\n'.repeat(40),
  '/notes/server.log': '2026-11-26T08:00:00Z INFO up\n2026-11-26T08:00:01Z ERROR down\n',
  '/src/tide.py': 'def tide(level):\n    return level\n',
  '/image.gif': Buffer.from('R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=', 'base64'),
  '/.hidden.txt': 'dots\n',
  '/build/out.o': 'object\n',
  '/.gitignore': 'build/\n',
}

async function fill(ws) {
  for (const [path, content] of Object.entries(FILES)) await ws.files.writeFile(path, content)
}

/** Opens a workspace in a directory, for the command as well. */
async function shared(t) {
  const folder = temporary(t, '')
  const ws = await Workspace.open(folder)
  t.after(() => ws.close())
  await fill(ws)
  const yfs = (...args) =>
    execFileSync(process.env.YFS_COMMAND, [...args, '--workspace', folder], { encoding: 'utf8' })
  return { ws, yfs }
}

test('statistics are typed, and those of the command', async (t) => {
  const { ws, yfs } = await shared(t)
  const kinds = []
  for (const path of Object.keys(FILES)) {
    const analysis = await ws.files.stats(path, { preview: { tokens: 30 } })
    kinds.push(Object.keys(analysis.stats).join())
    const { description, ...rest } = analysis
    assert.deepEqual(rest, JSON.parse(yfs('describe', '--json', '--preview', '30', path)), path)
    assert.ok(description.length > 0)
  }
  assert.equal(
    kinds.join(' '),
    'Json JsonArray JsonArray Csv Text Html Markdown Text Text Text Binary Text Text Text',
  )
  const { stats, preview, notes, description } = await ws.files.stats('/data/gauges.csv')
  assert.deepEqual([stats.Csv.rows, stats.Csv.headers], [3, ['gauge', 'place', 'installed']])
  assert.deepEqual(stats.Csv.data_types, ['String', 'String', 'Integer'])
  assert.deepEqual([preview, notes], [null, []])
  assert.match(description, /^CSV: 3 rows × 3 columns/)
})

test('statistics are those of now, and kept in the workspace', async (t) => {
  const file = temporary(t, 'w.db')
  let ws = await Workspace.open(file)
  await ws.files.writeFile('/a.csv', 'a,b\n1,2\n')
  const first = await ws.files.stats('/a.csv')
  await ws.files.appendFile('/a.csv', '3,4\n')
  const second = await ws.files.stats('/a.csv')
  assert.deepEqual([first.stats.Csv.rows, second.stats.Csv.rows], [1, 2])
  assert.notEqual(first.version, second.version)
  await ws.close()
  ws = await Workspace.open(file, { readOnly: true })
  t.after(() => ws.close())
  assert.deepEqual(await ws.files.stats('/a.csv'), second)
})

test('previews have a limit in characters, bytes or tokens', async (t) => {
  const ws = await inMemory(t)
  await fill(ws)
  const path = '/notes/deep/log.txt'
  assert.ok((await ws.files.preview(path)).length <= 300)
  assert.ok((await ws.files.preview(path, { characters: 20 })).length <= 20)
  assert.ok(Buffer.byteLength(await ws.files.preview(path, { bytes: 30 })) <= 30)
  assert.ok((await ws.files.preview(path, { tokens: 4 })).length <= 16)
  assert.equal(await ws.files.preview('/data/array.json', { characters: 0 }), '')
  for (const [limit, code] of [
    [7, 'ERR_INVALID_ARG_TYPE'],
    [null, 'ERR_INVALID_ARG_TYPE'],
    [{}, 'ERR_INVALID_ARG_VALUE'],
    [{ words: 3 }, 'ERR_INVALID_ARG_VALUE'],
    [{ tokens: 3, bytes: 3 }, 'ERR_INVALID_ARG_VALUE'],
    [{ tokens: -1 }, 'ERR_OUT_OF_RANGE'],
    [{ tokens: '3' }, 'ERR_INVALID_ARG_TYPE'],
    [{ tokens: 1.5 }, 'ERR_INVALID_ARG_VALUE'],
  ]) {
    await assert.rejects(ws.files.preview(path, limit), { code }, JSON.stringify(limit))
    await assert.rejects(ws.files.context({ preview: limit }), { code }, JSON.stringify(limit))
  }
})

test('contexts have globs and a budget, and are those of the command', async (t) => {
  const { ws, yfs } = await shared(t)
  const cases = [
    [{}, []],
    [{ maxTokens: 120 }, ['--tokens', '120']],
    [{ maxTokens: 0 }, ['--tokens', '0']],
    [
      { paths: ['/notes', '/data/api.json'], exclude: ['*.log'] },
      ['/notes', '/data/api.json', '--exclude', '*.log'],
    ],
    [{ include: ['*.csv', '*.md'] }, ['--include', '*.csv', '--include', '*.md']],
    [
      { hidden: true, ignored: true, preview: { characters: 9 } },
      ['--hidden', '--ignored', '--preview', '9'],
    ],
    [{ maxFileSize: 50 }, ['--max-file-size', '50']],
  ]
  for (const [options, args] of cases) {
    const rendered = await ws.files.context(options)
    assert.deepEqual(rendered, JSON.parse(yfs('artifact', 'context', '--json', ...args)))
    assert.deepEqual(await ws.files.context(options), rendered)
    if (options.maxTokens) assert.ok(rendered.tokens <= options.maxTokens)
  }
  const small = await ws.files.context({ maxTokens: 120 })
  assert.ok(small.listed < small.files && /more files/.test(small.text), small.text)
  const template = '{{#each files}}{{name}} {{size this}}|{{/each}}'
  const named = await ws.files.context({ paths: ['/data'], include: ['*.csv'], template })
  assert.equal(named.text, 'gauges.csv 59B|')
  await assert.rejects(ws.files.context({ template: '{{#each' }), { code: 'ERR_INVALID_ARG_VALUE' })
  await assert.rejects(ws.files.context({ include: ['{a'] }), { code: 'EINVAL' })
  await assert.rejects(ws.files.context({ paths: ['/none'] }), { code: 'ENOENT' })
  await assert.rejects(ws.files.stats('/none'), { code: 'ENOENT', path: '/none' })
  await assert.rejects(ws.files.stats('/data'), { code: 'EISDIR' })
})

test('queries have the results of the command', async (t) => {
  const { ws, yfs } = await shared(t)
  const cases = [
    ['/data/api.json', '.items[] | select(.id > 1) | .kind', {}, ['pier']],
    ['/data/lines.jsonl', '.a', {}, [1, 'x']],
    ['/data/lines.jsonl', 'map(.a)', { slurp: true }, [[1, 'x']]],
    ['/data/gauges.csv', '.installed', {}, [2019, 2021, 2024]],
    ['/data/gauges.csv', '.place', { raw: true }, ['pier', 'harbor', null]],
    ['/data/deploy.yaml', '.image', {}, ['tides:7', 'gauges:2']],
    [
      '/data/api.json',
      '"items"|={"kind"="gauge"}',
      { dialect: 'jql' },
      [[{ id: 1, kind: 'gauge' }]],
    ],
    [
      '/data/gauges.csv',
      'SELECT count(*) AS n, max(installed) AS last FROM data',
      { dialect: 'sql' },
      [{ n: 3, last: 2024 }],
    ],
    ['/notes/deep/log.txt', '.', { format: 'tsv' }, undefined],
    ['/data/lines.jsonl', 'env | length', { slurp: true }, [0]],
  ]
  for (const [path, query, options, expected] of cases) {
    const found = await ws.files.query(path, query, options)
    if (expected) assert.deepEqual(found, { results: expected, truncated: false }, query)
    const args = Object.entries(options).flatMap(([name, value]) =>
      value === true ? [`--${name}`] : [`--${name}`, value],
    )
    const printed = JSON.parse(yfs('query', '--json', ...args, query, path))
    assert.deepEqual({ path, ...found }, printed, query)
  }
  for (const [query, options, words] of [
    ['.items[', {}, /malformed/],
    ['.items.x', {}, /cannot index/],
    ['nonsense', {}, /undefined/],
    ['$ENV', {}, /undefined/],
    ['"a', { dialect: 'jql' }, /./],
    ['DELETE FROM data', { dialect: 'sql' }, /./],
    ["ATTACH '/tmp/x' AS x", { dialect: 'sql' }, /./],
  ]) {
    const failed = { code: 'ERR_YFS_QUERY', message: words }
    await assert.rejects(ws.files.query('/data/api.json', query, options), failed, query)
  }
  await assert.rejects(ws.files.query('/none', '.'), { code: 'ENOENT' })
  await assert.rejects(ws.files.query('/data', '.'), { code: 'EISDIR' })
  await assert.rejects(ws.files.query('/data/api.json', 7), { code: 'ERR_INVALID_ARG_TYPE' })
  const elsewhere = { nodePath: '/no/such/program' }
  await assert.rejects(ws.files.query('/data/api.json', '.', elsewhere), { code: 'ERR_YFS_QUERY' })
})

test('queries are ended at their limits, and this process goes on', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.json', '1')
  for (const [query, options] of [
    ['def f: f; f', { cpuTimeMs: 1 }],
    ['[range(1e12)] | length', { maxMemory: 64 << 20, cpuTimeMs: 60_000 }],
    ['def f: [f]; f', { maxMemory: 64 << 20, cpuTimeMs: 60_000 }],
  ])
    await assert.rejects(
      ws.files.query('/a.json', query, options),
      { code: 'ERR_YFS_QUERY_LIMIT' },
      query,
    )
  // The memory of Node itself does not count, and a query may use what its limit allows.
  const sum = await ws.files.query('/a.json', '[range(1e5)] | length', { maxMemory: 64 << 20 })
  assert.deepEqual(sum.results, [100_000])
  const cut = await ws.files.query('/a.json', 'range(1000000)', { maxOutputLen: 20 })
  assert.deepEqual([cut.truncated, cut.results.slice(0, 3)], [true, [0, 1, 2]])
  const many = await ws.files.query('/a.json', 'range(100000)')
  assert.deepEqual([many.results.length, many.results.at(-1)], [100_000, 99_999])
})

test('a small limit of memory is enough, whatever the threads of Node do', async (t) => {
  // Each thread that allocated for the first time reserved 64 MB: 4 of 100 queries were ended.
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.json', '1')
  const lane = async () => {
    for (let n = 0; n < 15; n++) {
      const { results } = await ws.files.query('/a.json', '[range(1e5)] | length', {
        maxMemory: 64 << 20,
      })
      assert.deepEqual(results, [100_000])
    }
  }
  await Promise.all([lane(), lane(), lane(), lane()])
})

/** Returns how many processes this one has started and not reaped. */
function children() {
  const list = `/proc/self/task/${process.pid}/children`
  // Queries are started on other threads.
  const lists = existsSync(list) ? readdirTasks() : []
  return lists.flatMap((task) => readFileSync(task, 'utf8').split(' ').filter(Boolean)).length
}

function readdirTasks() {
  return execFileSync('ls', ['/proc/' + process.pid + '/task'], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((task) => `/proc/self/task/${task}/children`)
    .filter((file) => existsSync(file))
}

test('a signal ends calls', async (t) => {
  const ws = await inMemory(t)
  await ws.files.writeFile('/a.json', '1')
  const reason = new Error('enough')
  const aborted = AbortSignal.abort(reason)
  const isReason = (error) => error === reason
  const files = ws.files
  await assert.rejects(files.stats('/a.json', { signal: aborted }), isReason)
  await assert.rejects(files.preview('/a.json', { tokens: 1 }, { signal: aborted }), isReason)
  await assert.rejects(files.context({ signal: aborted }), isReason)
  await assert.rejects(files.query('/a.json', '.', { signal: aborted }), isReason)

  // It would take a minute of processor time.
  const controller = new AbortController()
  const options = { cpuTimeMs: 60_000, signal: controller.signal }
  const endless = files.query('/a.json', 'def f: f; f', options)
  setImmediate(() => controller.abort(reason))
  await assert.rejects(endless, isReason)
  while (children() > 0) await later(10)

  await files.writeFile('/large.csv', 'a,b\n'.repeat(4 << 20))
  const another = new AbortController()
  const large = files.stats('/large.csv', { signal: another.signal })
  setImmediate(() => another.abort(reason))
  await assert.rejects(large, isReason)
  assert.equal((await files.stats('/large.csv')).stats.Csv.rows, (4 << 20) - 1)
  const unused = new AbortController()
  assert.equal((await files.stats('/a.json', { signal: unused.signal })).size, 1)
  unused.abort()
})

test('worker threads describe and query', async (t) => {
  const file = temporary(t, 'w.db')
  const ws = await Workspace.open(file)
  t.after(() => ws.close())
  await fill(ws)
  const source = `
    const { parentPort, workerData } = require('node:worker_threads')
    void (async () => {
      const { Workspace } = await import(workerData.entry)
      const ws = await Workspace.open(workerData.file)
      const { stats } = await ws.files.stats('/data/gauges.csv')
      const { results } = await ws.files.query('/data/gauges.csv', '.gauge')
      const { text } = await ws.files.context({ maxTokens: 200 })
      await ws.close()
      parentPort.postMessage({ stats, results, text })
    })()`
  const entry = new URL('../dist/index.js', import.meta.url).href
  const workers = [1, 2, 3].map(async () => {
    const worker = new Worker(source, { eval: true, workerData: { entry, file } })
    return new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  })
  const expected = {
    stats: (await ws.files.stats('/data/gauges.csv')).stats,
    results: ['G1', 'G2', 'G3'],
    text: (await ws.files.context({ maxTokens: 200 })).text,
  }
  for (const found of await Promise.all(workers)) assert.deepEqual(found, expected)
})

test('a closed workspace describes nothing', async (t) => {
  const ws = await Workspace.open(temporary(t, 'w.db'))
  await ws.files.writeFile('/a.json', '1')
  await ws.close()
  const closed = { code: 'ERR_YFS_CLOSED' }
  await assert.rejects(ws.files.stats('/a.json'), closed)
  await assert.rejects(ws.files.context(), closed)
  await assert.rejects(ws.files.query('/a.json', '.'), closed)
})
