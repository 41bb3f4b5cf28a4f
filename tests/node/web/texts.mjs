// The texts of the page: each literal of `t` and `plural` has its translation in each catalog, with
// the same holes, and no catalog has more. With `--missing`, prints what a catalog lacks.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCES = fileURLToPath(new URL('../../../crates/doors/yfs-web/app/src', import.meta.url))
const STRING = String.raw`('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")`
const TEXT = new RegExp(String.raw`\bt\(\s*${STRING}`, 'g')
const PLURAL = new RegExp(String.raw`\bplural\(\s*[^,]+,\s*${STRING},\s*${STRING}`, 'g')
/** Words between tags of JSX, which no translation reaches. */
const BARE = /<[a-z][\w-]*(?:\s[^<>]*)?>\s*([A-Z]?[a-z]{2,}[^<>{}]*)<\//g

const unquoted = (literal) =>
  literal.slice(1, -1).replace(/\\(u[0-9a-f]{4}|.)/g, (_, escaped) => {
    if (escaped.length > 1) return String.fromCharCode(parseInt(escaped.slice(1), 16))
    return escaped === 'n' ? '\n' : escaped
  })
const holesOf = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].toSorted().join()

const texts = new Map()
const problems = []
for (const entry of readdirSync(SOURCES, { recursive: true, withFileTypes: true })) {
  if (!/\.tsx?$/.test(entry.name)) continue
  const path = join(entry.parentPath, entry.name)
  const source = readFileSync(path, 'utf8')
  for (const [, literal] of source.matchAll(TEXT)) texts.set(unquoted(literal), false)
  for (const [, , many] of source.matchAll(PLURAL)) texts.set(unquoted(many), true)
  if (!entry.name.endsWith('.tsx')) continue
  for (const [, words] of source.replace(/<code>[^<]*<\/code>/g, '').matchAll(BARE)) {
    if (words.trim() !== 'yfs') problems.push(`${entry.name}: not translated: ${words.trim()}`)
  }
}

const missing = {}
for (const language of ['de', 'ja']) {
  const catalog = JSON.parse(readFileSync(join(SOURCES, 'language', `${language}.json`), 'utf8'))
  missing[language] = [...texts].filter(([text]) => !(text in catalog))
  for (const [text] of missing[language]) problems.push(`${language} lacks: ${text}`)
  for (const [text, entry] of Object.entries(catalog)) {
    if (!texts.has(text)) problems.push(`${language} has what the page does not: ${text}`)
    const forms = typeof entry === 'string' ? [entry] : Object.values(entry)
    for (const form of forms) {
      const isOne = typeof entry === 'object' && entry.one === form
      if (holesOf(form) !== holesOf(text) && !isOne) {
        problems.push(`${language}: other holes: ${text}`)
      }
    }
    if (typeof entry === 'object' && entry.other === undefined) {
      problems.push(`${language}: no form for many: ${text}`)
    }
  }
}

if (process.argv.includes('--missing')) {
  console.log(JSON.stringify(missing, null, 1))
} else {
  console.log(`${texts.size} texts`)
  for (const problem of problems) console.error(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
