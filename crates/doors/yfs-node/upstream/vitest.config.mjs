// Runs just-bash's own tests over workspaces (`run.mjs`): wherever they or their subject import `InMemoryFs`, they get ours.

import { fileURLToPath } from 'node:url'

const OURS = fileURLToPath(new URL('in-memory-fs.mjs', import.meta.url))
const THEIRS = /\/fs\/in-memory-fs\/in-memory-fs\.ts$/

const replace = {
  name: 'workspace',
  enforce: 'pre',
  async resolveId(id, importer) {
    if (!importer || !id.startsWith('.')) return null
    const resolved = await this.resolve(id, importer, { skipSelf: true })
    return resolved && THEIRS.test(resolved.id) ? OURS : null
  },
}

export default {
  root: process.cwd(),
  plugins: process.env.YFS_BASELINE ? [] : [replace],
  test: {
    globals: true,
    exclude: ['**/node_modules/**', '**/dist/**', 'src/cli/**', '**/*.{bundle,binary,wasm,fuzz}.test.ts', '**/{fuzzing,fuzz}/**'],
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 60_000,
  },
}
