// Writes the names of all files of a bundle into its service worker, which fetches them.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const [dir] = process.argv.slice(2)
const files = readdirSync(dir, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, path, name }) => relative(dir, join(parentPath ?? path, name)))
  .map((name) => name.replaceAll(sep, '/'))
  .filter((name) => name.startsWith('assets/') && !/\.(br|gz)$/.test(name))
  .sort()
const version = createHash('sha256')
for (const name of ['sw.js', 'index.html', ...files]) {
  version.update(`${name}\0`).update(readFileSync(join(dir, name)))
}
const page = readFileSync(join(dir, 'index.html'), 'utf8')
const build = {
  version: version.digest('hex').slice(0, 16),
  entry: /src="([^"]+)"/.exec(page)[1],
  files: files.map((name) => `/${name}`),
}
const worker = join(dir, 'sw.js')
writeFileSync(worker, `self.build=${JSON.stringify(build)};\n${readFileSync(worker, 'utf8')}`)
