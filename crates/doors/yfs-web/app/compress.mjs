// Writes a Brotli copy beside each file of a directory that becomes shorter by it.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

const [dir] = process.argv.slice(2)
for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name.endsWith('.br')) continue
  const path = join(entry.parentPath ?? entry.path, entry.name)
  const content = readFileSync(path)
  const brotli = brotliCompressSync(content)
  if (brotli.length < content.length) writeFileSync(`${path}.br`, brotli)
}
