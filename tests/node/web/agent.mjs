// An agent that works over the Model Context Protocol: the official client, on `yfs mcp`.

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

/** Starts an agent in a directory; `call` calls a tool and fails with what the tool says. */
export async function startAgent(program, directory, name) {
  const args = ['mcp', '--actor', `agent:${name}`]
  const transport = new StdioClientTransport({
    command: program,
    args,
    cwd: directory,
    stderr: 'ignore',
  })
  const client = new Client({ name, version: '1' })
  await client.connect(transport)
  return {
    async call(tool, parameters) {
      const result = await client.callTool({ name: tool, arguments: parameters })
      const text = result.content.map((part) => part.text ?? '').join('')
      if (result.isError) throw new Error(`${tool}: ${text}`)
      return text
    },
    stop: () => client.close(),
  }
}
