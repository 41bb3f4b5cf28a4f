// Writes the names of the files of a bundle into its service worker, which fetches them, so that
// the page works without its server. What only diagrams and formulas need is left out: it is most
// of the bundle, and a page without it shows their sources.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const [dir] = process.argv.slice(2)
const ON_DEMAND = /^(?!src\/).*(mermaid|katex)/

/** Returns the files that only what is loaded on demand leads to. */
function filesOnDemand() {
  const manifest = JSON.parse(readFileSync(join(dir, '.vite/manifest.json'), 'utf8'))
  rmSync(join(dir, '.vite'), { recursive: true })
  const reach = (keys, isFollowed) => {
    const [found, todo] = [new Set(), [...keys]]
    while (todo.length > 0) {
      const key = todo.pop()
      if (found.has(key) || manifest[key] === undefined || !isFollowed(key)) continue
      found.add(key)
      const { imports = [], dynamicImports = [] } = manifest[key]
      todo.push(...imports, ...dynamicImports)
    }
    return found
  }
  const entries = Object.keys(manifest).filter((key) => manifest[key].isEntry)
  const all = reach(entries, () => true)
  const always = reach(entries, (key) => !ON_DEMAND.test(key))
  const filesOf = (keys) =>
    [...keys].flatMap((key) => [
      manifest[key].file,
      ...(manifest[key].css ?? []),
      ...(manifest[key].assets ?? []),
    ])
  const kept = new Set(filesOf(always))
  return new Set(filesOf(all).filter((file) => !kept.has(file)))
}

const onDemand = filesOnDemand()
const files = readdirSync(dir, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, path, name }) => relative(dir, join(parentPath ?? path, name)))
  .map((name) => name.replaceAll(sep, '/'))
  .filter((name) => name.startsWith('assets/') && !/\.(br|gz)$/.test(name))
  .filter((name) => !onDemand.has(name))
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
