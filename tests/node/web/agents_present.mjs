// Agents are seen while they work: at the file that they read or write, with a mark in the tree and
// a caret behind what they wrote, whichever door they use. They can be followed, and are not shown
// any more a moment after their last call.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startAgent } from './agent.mjs'
import { assertEqual, scenario, shows, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

/** The avatar of an agent at a file. */
const avatarOf = (page, name, path) =>
  page.locator(`.people [aria-label="Follow ${name} (agent), in ${path}"]`)

/** The mark of an agent at a file in the tree. */
const markOf = (page, path, title) => row(page, path).locator(`.agent-mark[title="${title}"]`)

/** Returns what is before the caret of an agent, in its line or block. */
const beforeCaret = (page, name) =>
  page.evaluate((key) => {
    const carets = [...document.querySelectorAll('[data-caret-of]')]
    const caret = carets.find((element) => element.dataset.caretOf === key)
    if (caret === undefined) return null
    const range = document.createRange()
    range.selectNodeContents(caret.closest('.cm-line, .ProseMirror p'))
    range.setEndBefore(caret)
    const before = range.cloneContents()
    before.querySelectorAll('.caret-label').forEach((label) => label.remove())
    return before.textContent.replaceAll('\u2060', '')
  }, `agent ${name}`)

const caretIs = (page, name, text) =>
  until(async () => (await beforeCaret(page, name)) === text, `the caret of ${name} behind ${text}`)

/** An agent over the Model Context Protocol at the server. */
async function startRemoteAgent(stage, name) {
  const token = (await stage.yfs('--quiet', 'token', 'new', '--for', `agent:${name}`)).trim()
  const headers = { Authorization: `Bearer ${token}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${stage.server.url}/mcp`), {
    requestInit: { headers },
  })
  const client = new Client({ name, version: '1' })
  await client.connect(transport)
  return {
    headers,
    async call(tool, parameters) {
      const result = await client.callTool({ name: tool, arguments: parameters })
      assertEqual(result.isError ?? false, false, JSON.stringify(result.content))
    },
    stop: () => client.close(),
  }
}

/** An agent at the server: it reads a file, and writes another, where it is followed. */
async function checkRemote(stage, page) {
  const scout = await startRemoteAgent(stage, 'scout')
  await scout.call('read_file', { file_path: '/plan.md' })
  const avatar = avatarOf(page, 'scout', '/plan.md')
  await avatar.waitFor()
  assertEqual(await avatar.locator('.avatar.is-agent svg').count(), 1, 'a robot')
  await markOf(page, '/plan.md', 'scout reads this file').waitFor()
  await avatar.click()
  await shows(page, 'richtext')
  assertEqual(await beforeCaret(page, 'scout'), null, 'no caret of one who reads')
  const edit = { old_string: 'Listen to users', new_string: 'Listen to customers' }
  await scout.call('edit_file', { file_path: '/plan.md', ...edit })
  await caretIs(page, 'scout', 'Listen to customers')
  await markOf(page, '/plan.md', 'scout writes this file').waitFor()
  // Followed, it leads into another file, and there to what it writes.
  await scout.call('read_file', { file_path: '/long.txt' })
  await shows(page, 'text')
  const last = { old_string: 'line 299', new_string: 'line 299, the last' }
  await scout.call('edit_file', { file_path: '/long.txt', ...last })
  await caretIs(page, 'scout', 'line 299, the last')
  const first = { old_string: 'line 0\n', new_string: 'line 0, the first\n' }
  await scout.call('edit_file', { file_path: '/long.txt', ...first })
  await caretIs(page, 'scout', 'line 0, the first')
  await page.keyboard.press('Escape')
  return scout
}

/** The same agent by requests of files. */
async function checkRequests(stage, page, scout) {
  const url = `${stage.server.url}/api/files`
  const { headers } = scout
  await fetch(`${url}/plan.md`, { headers })
  await avatarOf(page, 'scout', '/plan.md').waitFor()
  await row(page, '/log.txt').click()
  await page.locator('.cm-line', { hasText: 'Tuesday' }).waitFor()
  await fetch(`${url}/log.txt`, { method: 'PUT', headers, body: 'Monday\nTuesday noon\n' })
  await caretIs(page, 'scout', 'Tuesday noon')
  await avatarOf(page, 'scout', '/log.txt').waitFor()
  // A name for the version is newer than the text, and no place in it.
  await stage.yfs('label', '/log.txt', 'draft')
  // What is deleted leaves the caret at its place.
  await fetch(`${url}/log.txt`, { method: 'PUT', headers, body: 'Monday\nTuesday\n' })
  await caretIs(page, 'scout', 'Tuesday')
}

/** Agents of other processes: one over standard input and output, and one call of a tool. */
async function checkOtherProcesses(stage, page) {
  const planner = await startAgent(stage.program, stage.directory, 'planner')
  // The server may still make the socket at which it learns of it.
  await until(async () => {
    await planner.call('read_file', { file_path: '/plan.md' })
    return avatarOf(page, 'planner', '/plan.md').count()
  }, 'planner, who reads')
  await markOf(page, '/plan.md', 'planner reads this file').waitFor()
  await planner.call('read_file', { file_path: '/log.txt' })
  await avatarOf(page, 'planner', '/log.txt').waitFor()
  const change = { old_string: 'Tuesday', new_string: 'Wednesday' }
  await planner.call('edit_file', { file_path: '/log.txt', ...change })
  await caretIs(page, 'planner', 'Wednesday')
  await markOf(page, '/log.txt', 'planner writes this file').waitFor()
  await planner.stop()
  const tool = (name, parameters) => {
    const args = ['--actor', 'agent:tooler', 'tool', name, JSON.stringify(parameters)]
    return promisify(execFile)(stage.program, args, { cwd: stage.directory })
  }
  await tool('read_file', { file_path: '/plan.md' })
  await avatarOf(page, 'tooler', '/plan.md').waitFor()
  await tool('edit_file', { file_path: '/log.txt', old_string: 'Monday', new_string: 'Monday!' })
  await caretIs(page, 'tooler', 'Monday!')
}

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen to users.\n')
    writeFileSync(join(directory, 'log.txt'), 'Monday\nTuesday\n')
    const lines = Array.from({ length: 300 }, (_, n) => `line ${n}`)
    writeFileSync(join(directory, 'long.txt'), `${lines.join('\n')}\n`)
  },
  async (stage) => {
    const { url, token } = stage.server
    const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
    const page = await context.newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${url}/#token=${token}`)
    await row(page, '/log.txt').click()
    await shows(page, 'text')
    const scout = await checkRemote(stage, page)
    await checkRequests(stage, page, scout)
    await scout.stop()
    await checkOtherProcesses(stage, page)
    if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE })

    // None stays.
    await until(async () => (await page.locator('.people .is-agent').count()) === 0, 'no agent')
    assertEqual(await page.locator('.agent-mark').count(), 0, 'no mark')
    assertEqual(await page.locator('[data-caret-of^="agent"]').count(), 0, 'no caret')
  },
)
