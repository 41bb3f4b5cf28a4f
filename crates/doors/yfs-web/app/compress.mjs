// Writes a Brotli and a gzip copy beside each file of a directory that becomes shorter by both.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const [dir] = process.argv.slice(2)
for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || /\.(br|gz)$/.test(entry.name)) continue
  const path = join(entry.parentPath ?? entry.path, entry.name)
  const content = readFileSync(path)
  const brotli = brotliCompressSync(content)
  const gzip = gzipSync(content, { level: constants.Z_BEST_COMPRESSION })
  if (Math.max(brotli.length, gzip.length) >= content.length) continue
  writeFileSync(`${path}.br`, brotli)
  writeFileSync(`${path}.gz`, gzip)
}
