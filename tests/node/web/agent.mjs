// An agent that works over the Model Context Protocol: `yfs mcp` on standard input and output.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Starts an agent in a directory; `call` calls a tool and fails with what the tool says. */
export async function startAgent(program, directory, name) {
  const args = ['mcp', '--actor', `agent:${name}`]
  const child = spawn(program, args, { cwd: directory, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  let nCalls = 0
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request = async (method, params) => {
    const id = ++nCalls
    const answer = new Promise((resolve) => waiting.set(id, resolve))
    send({ id, method, params })
    const { result, error } = await answer
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name, version: '1' },
  })
  send({ method: 'notifications/initialized' })
  return {
    async call(tool, parameters) {
      const result = await request('tools/call', { name: tool, arguments: parameters })
      const text = result.content.map((part) => part.text ?? '').join('')
      if (result.isError) throw new Error(`${tool}: ${text}`)
      return text
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.stdin.end()
      await ended
    },
  }
}
