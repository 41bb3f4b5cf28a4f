// Runs the conformance suite of the Model Context Protocol, with the arguments of its own command:
// `node run.mjs server --url URL`.
//
// The suite is built for Node 22 and imports `globSync`, which only its checks of repositories use.
// With an older Node, the import is removed as the module is loaded.

import fs from 'node:fs'
import { register } from 'node:module'

const hooks = `
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (!url.endsWith('/conformance/dist/index.js')) return loaded
  return { ...loaded, source: String(loaded.source).replace(/globSync as \\w+,/, '') }
}`

if (!fs.globSync) register('data:text/javascript,' + encodeURIComponent(hooks))
await import('@modelcontextprotocol/conformance/dist/index.js')
