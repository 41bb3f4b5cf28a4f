// An agent over the Model Context Protocol is seen while it works: at the file that it reads or
// writes, and not any more a moment after its last call.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startAgent } from './agent.mjs'
import { assertEqual, scenario, shows, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen to users.\n')
    writeFileSync(join(directory, 'log.txt'), 'Monday\nTuesday\n')
  },
  async (stage) => {
    const { url, token } = stage.server
    const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
    const page = await context.newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${url}/#token=${token}`)
    await row(page, '/log.txt').click()
    await shows(page, 'text')

    // It reads by the server: its avatar says where, and a click leads there.
    const agentToken = (await stage.yfs('--quiet', 'token', 'new', '--for', 'agent:scout')).trim()
    const headers = { Authorization: `Bearer ${agentToken}` }
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers },
    })
    const client = new Client({ name: 'scout', version: '1' })
    await client.connect(transport)
    const call = async (name, parameters) => {
      const result = await client.callTool({ name, arguments: parameters })
      assertEqual(result.isError ?? false, false, JSON.stringify(result.content))
    }
    await call('read_file', { file_path: '/plan.md' })
    const avatar = page.locator('.people [aria-label="Follow scout (agent), in /plan.md"]')
    await avatar.waitFor()
    assertEqual(await avatar.locator('.avatar.is-agent svg').count(), 1, 'a robot')
    await avatar.click()
    await shows(page, 'richtext')
    await page.keyboard.press('Escape')

    await client.close()

    // An agent of another process is seen at what it writes.
    const planner = await startAgent(stage.program, stage.directory, 'planner')
    await row(page, '/log.txt').click()
    await shows(page, 'text')
    await planner.call('read_file', { file_path: '/log.txt' })
    const change = { old_string: 'Tuesday', new_string: 'Wednesday' }
    await planner.call('edit_file', { file_path: '/log.txt', ...change })
    await page.locator('.people [aria-label="Follow planner (agent), in /log.txt"]').waitFor()
    await planner.stop()

    // Neither stays.
    await until(async () => (await page.locator('.people .is-agent').count()) === 0, 'no agent')
  },
)
