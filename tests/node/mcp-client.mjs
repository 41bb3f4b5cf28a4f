// Drives a server of yfs with the official TypeScript client: every tool, resources, prompts.
//
// Usage: node mcp-client.mjs TARGET PROFILE, where TARGET is a URL or a JSON array, the command to
// start.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ElicitRequestSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'

const [target, profile] = process.argv.slice(2)
const calls = JSON.parse(readFileSync(new URL('mcp-calls.json', import.meta.url)))[profile]

function transport() {
  if (!target.startsWith('[')) return new StreamableHTTPClientTransport(new URL(target))
  const [command, ...args] = JSON.parse(target)
  return new StdioClientTransport({ command, args })
}

const client = new Client({ name: 'yfs-test', version: '1' }, { capabilities: { elicitation: {} } })
client.setRequestHandler(ElicitRequestSchema, async () => ({
  action: 'decline',
}))
const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) =>
    resolve(note.params.uri),
  )
})
const listChanged = new Promise((resolve) => {
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => resolve())
})
await client.connect(transport())

const { tools } = await client.listTools()
const called = new Set()
const watched = {
  full: 'file:///d/a.txt',
  reference: 'file:///r/a.txt',
  memory: 'file:///memories/n.md',
}
await client.subscribeResource({ uri: watched[profile] })
for (const [name, args, expected] of calls) {
  const result = await client.callTool({ name, arguments: args })
  const text = result.content.map((block) => block.text ?? '').join('\n')
  const fails = expected?.startsWith('!') ?? false
  assert.equal(result.isError ?? false, fails, `${name} ${JSON.stringify(args)}: ${text}`)
  const wanted = fails ? expected.slice(1) : expected
  assert(wanted === null || text.includes(wanted), `${name} ${JSON.stringify(args)}: ${text}`)
  called.add(name)
}
assert.deepEqual([...called].sort(), tools.map((tool) => tool.name).sort())
assert.equal(await updated, watched[profile])
await listChanged

const { resources } = await client.listResources()
const read = await client.readResource({ uri: resources[0].uri })
assert.equal(read.contents[0].uri, resources[0].uri)
await assert.rejects(client.readResource({ uri: 'file:///absent' }))
const unknown = await client.callTool({ name: 'fly', arguments: {} })
assert(unknown.isError && unknown.content[0].text.includes('fly'))

// A call that is cancelled leaves the connection usable.
const abort = new AbortController()
const call = { name: tools[0].name, arguments: {} }
const cancelled = client.callTool(call, undefined, { signal: abort.signal })
abort.abort()
await assert.rejects(cancelled)
await client.ping()
await client.close()
console.log(`${tools.length} tools, ${calls.length} calls`)
