// Measures the house: lines per wing and crate, circles of imports, the largest types, and public
// items that no other crate uses. Prints a table, their names with --unused, or JSON with --json.
// `just house` runs it.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WINGS = ['core', 'sync', 'agents', 'doors']

/** All files below a directory, those that are built left out. */
function filesBelow(directory) {
  const found = []
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name)
    if (name === 'target' || name === 'node_modules' || name === 'dist') continue
    if (statSync(path).isDirectory()) found.push(...filesBelow(path))
    else found.push(path)
  }
  return found
}

/** The code of a source without its inline tests. */
const withoutTests = (source) => source.split('#[cfg(test)]\nmod tests {')[0]

/** The code of a source without comments and literals. */
const codeOnly = (source) =>
  source.replace(/\/\/[^\n]*|b?r(#*)"[^]*?"\1|b?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.[^']*)'/g, '')

const isTest = (path) => /(^|\/)(tests|benches|examples)(\/|\.rs$)/.test(path)

/** The crates by wing, each with its sources outside of tests. */
function readCrates() {
  const crates = []
  for (const wing of WINGS) {
    for (const name of readdirSync(join(ROOT, 'crates', wing)).sort()) {
      const directory = join(ROOT, 'crates', wing, name)
      const sources = filesBelow(join(directory, 'src'))
        .filter((path) => path.endsWith('.rs'))
        .map((path) => ({ path: relative(join(directory, 'src'), path), path_from_root: path }))
        .filter(({ path }) => !isTest(path))
        .map((file) => ({ ...file, text: withoutTests(readFileSync(file.path_from_root, 'utf8')) }))
      crates.push({ wing, name, sources })
    }
  }
  return crates
}

const countLines = (sources) =>
  sources.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)

/** The module of a file as a list of names; of `lib.rs` and `main.rs`, none. */
function moduleOf(path) {
  const parts = path.replace(/\.rs$/, '').split('/')
  return parts.length === 1 && ['lib', 'main'].includes(parts[0]) ? [] : parts
}

/** The paths that the trees of `use` in a code name, as lists of names. */
function* usePaths(source) {
  // A module that passes items on does not use them.
  const code = source
    .replace(/\bpub(?:\([^)]*\))?\s+use\s+[^;]+;/g, '')
    .replace(/\bpub\([^)]*\)/g, '')
  for (const [, tree] of code.matchAll(/\buse\s+([^;]+);/g)) yield* expand(tree.trim(), [])
  for (const [, path] of code.matchAll(/\b((?:crate|super)(?:::\w+)+)/g)) yield path.split('::')
}

function* expand(tree, before) {
  const [, path, rest] = /^((?:\w+::)*)([^]*)$/.exec(tree.trim()) ?? []
  const names = [...before, ...(path ?? '').split('::').filter(Boolean)]
  if (!rest?.startsWith('{')) {
    yield [...names, (rest ?? '').split(/\s/)[0]]
    return
  }
  let [depth, start] = [0, 1]
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === '{') depth++
    if (rest[at] === '}') depth--
    if ((rest[at] === ',' && depth === 1) || depth === 0) {
      const part = rest.slice(start, at).trim()
      if (part) yield* expand(part, names)
      start = at + 1
      if (depth === 0) return
    }
  }
}

/** The files of a crate that each file imports from, `pub use` followed to the end. */
function importsOf({ sources }) {
  const byModule = new Map(sources.map(({ path }) => [moduleOf(path).join('::'), path]))
  const reexports = new Map()
  const resolve = (from, path) => {
    let names = [...path]
    let base = from
    if (names[0] === 'crate') [base, names] = [[], names.slice(1)]
    else if (names[0] === 'self') names = names.slice(1)
    else if (names[0] === 'super') {
      while (names[0] === 'super') [base, names] = [base.slice(0, -1), names.slice(1)]
    } else return undefined
    const full = [...base, ...names]
    for (let length = full.length; length >= 0; length--) {
      const file = byModule.get(full.slice(0, length).join('::'))
      if (file !== undefined) return { file, item: full[length] }
    }
    return undefined
  }
  for (const { path, text } of sources) {
    for (const [, tree] of codeOnly(text).matchAll(/\bpub(?:\([^)]*\))?\s+use\s+([^;]+);/g)) {
      for (const names of expand(tree, [])) {
        const found = resolve(moduleOf(path), names) ?? resolve(moduleOf(path), ['self', ...names])
        if (found) reexports.set(`${path} ${names.at(-1)}`, found.file)
      }
    }
  }
  const imports = new Map()
  for (const { path, text } of sources) {
    const targets = new Set()
    for (const names of usePaths(codeOnly(text))) {
      const found = resolve(moduleOf(path), names)
      if (!found) continue
      let file = found.file
      const passed = new Set()
      while (reexports.has(`${file} ${found.item}`) && !passed.has(file)) {
        passed.add(file)
        file = reexports.get(`${file} ${found.item}`)
      }
      targets.add(file)
    }
    targets.delete(path)
    imports.set(path, targets)
  }
  return imports
}

/** The circles of a graph: its strongly connected parts of two and more files, by Tarjan. */
function circlesOf(imports) {
  const [index, low, stack, onStack, circles] = [new Map(), new Map(), [], new Set(), []]
  const visit = (file) => {
    index.set(file, index.size)
    low.set(file, index.get(file))
    stack.push(file)
    onStack.add(file)
    for (const next of imports.get(file) ?? []) {
      if (!index.has(next)) {
        visit(next)
        low.set(file, Math.min(low.get(file), low.get(next)))
      } else if (onStack.has(next)) low.set(file, Math.min(low.get(file), index.get(next)))
    }
    if (low.get(file) !== index.get(file)) return
    const circle = []
    do {
      circle.push(stack.at(-1))
      onStack.delete(stack.at(-1))
    } while (stack.pop() !== file)
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const file of imports.keys()) if (!index.has(file)) visit(file)
  return circles.sort((one, other) => other.length - one.length)
}

/** The number of methods of each type in inherent implementations, and of its fields. */
function typesOf({ sources }) {
  const types = new Map()
  const of = (name) =>
    types.get(name) ?? types.set(name, { methods: 0, files: new Set(), fields: 0 }).get(name)
  for (const { path, text } of sources) {
    const code = codeOnly(text)
    for (const [head, name] of code.matchAll(
      /^impl(?:<[^{]*?>)?\s+(\w+)(?:<[^{]*?>)?\s*(?:where[^{]*)?\{/gm,
    )) {
      const body = code.slice(code.indexOf(head) + head.length).split(/^\}/m)[0]
      const methods =
        body.match(/^ {4}(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn /gm) ?? []
      of(name).methods += methods.length
      of(name).files.add(path)
    }
    for (const [, name, body] of code.matchAll(
      /^(?:pub(?:\([^)]*\))? )?struct (\w+)(?:<[^{;]*>)?\s*\{([^}]*)\}/gm,
    )) {
      of(name).fields = (body.match(/^ {4}(?:pub(?:\([^)]*\))? )?\w+:/gm) ?? []).length
    }
  }
  return types
}

const ATTRIBUTES = /^((?:#\[[^\n]*\n+)*)/.source
const KINDS = 'fn|struct|enum|trait|type|const|static|mod'
const DEFINITION = new RegExp(
  `${ATTRIBUTES}pub (?:const |async |unsafe )*(?:${KINDS}) (\\w+)`,
  'gm',
)
const METHOD = /^((?: {4}#\[[^\n]*\n+)*) {4}pub (?:const |async |unsafe )*fn (\w+)/gm

/** What N-API and PyO3 export: their macros call it. */
const EXPORTED = /#\[(?:napi|py)/

const wordsOf = (text) => text.match(/\w+/g) ?? []

/** Pairs of an item and the names that its signature, its fields, or its variants have. */
function* signaturesOf(code) {
  for (const [head, name] of code.matchAll(/^ *pub (?:const |async |unsafe )*fn (\w+)[^{;]*/gm)) {
    yield [name, wordsOf(head)]
  }
  for (const [head, name] of code.matchAll(/^pub (?:type|const|static) (\w+)[^;]*/gm)) {
    yield [name, wordsOf(head)]
  }
  for (const [, name, body] of code.matchAll(/^pub (?:enum|trait) (\w+)([^]*?)^\}/gm)) {
    yield [name, wordsOf(body)]
  }
  for (const [, name, body] of code.matchAll(/^pub struct (\w+)([^]*?(?:;$|^\}))/gm)) {
    yield [name, (body.match(/\bpub [^\n]*/g) ?? []).flatMap(wordsOf)]
  }
  // What an iterator of a type returns, or its error of `FromStr`.
  for (const [, name, body] of code.matchAll(/^impl[^\n]* for (\w+)[^\n]*\{$([^]*?)^\}/gm)) {
    yield [name, (body.match(/^ {4}type \w+ = [^;]*/gm) ?? []).flatMap(wordsOf)]
  }
}

/**
 * Public items of libraries that no other crate names outside of tests, and of these the ones that
 * are no part of what another crate names: these could be less than public.
 */
function unusedItems(crates) {
  const words = new Map(
    crates.map(({ name, sources }) => [
      name,
      new Set(sources.flatMap(({ text }) => wordsOf(text))),
    ]),
  )
  return crates.map(({ name, sources }) => {
    const codes = sources.map(({ text }) => codeOnly(text))
    const names = new Set()
    for (const code of codes) {
      for (const pattern of [DEFINITION, METHOD]) {
        for (const [, attributes, item] of code.matchAll(pattern)) {
          if (!EXPORTED.test(attributes)) names.add(item)
        }
      }
    }
    const others = [...words].filter(([other]) => other !== name).map(([, known]) => known)
    const isNamed = (item) => others.some((known) => known.has(item))
    const unnamed = new Set([...names].filter((item) => !isNamed(item)))
    const signatures = codes.flatMap((code) => [...signaturesOf(code)])
    const unused = new Set(unnamed)
    for (let before = -1; before !== unused.size;) {
      before = unused.size
      for (const [item, parts] of signatures) {
        if (!unused.has(item)) for (const part of parts) unused.delete(part)
      }
    }
    return { unnamed: [...unnamed].sort(), unused: [...unused].sort() }
  })
}

const crates = readCrates()
const unused = unusedItems(crates)
const report = {
  lines: Object.fromEntries(
    WINGS.map((wing) => [
      wing,
      crates
        .filter((one) => one.wing === wing)
        .reduce((sum, { sources }) => sum + countLines(sources), 0),
    ]),
  ),
  crates: crates.map((one, at) => {
    const circles = circlesOf(importsOf(one))
    const types = [...typesOf(one)].map(([name, type]) => ({
      name,
      ...type,
      files: type.files.size,
    }))
    const by = (key) => types.toSorted((a, b) => b[key] - a[key])[0]
    return {
      name: one.name,
      wing: one.wing,
      lines: countLines(one.sources),
      largest_circle: circles[0]?.length ?? 0,
      circle: circles[0]?.map((path) => join(dirname(path), basename(path, '.rs'))) ?? [],
      most_methods: by('methods'),
      most_fields: by('fields'),
      public_and_unnamed: unused[at].unnamed,
      public_and_unused: unused[at].unused,
    }
  }),
}
if (process.argv.includes('--json')) console.log(JSON.stringify(report, null, 2))
else if (process.argv.includes('--unused')) {
  for (const { name, public_and_unused } of report.crates) {
    if (public_and_unused.length) console.log(`${name}: ${public_and_unused.join(', ')}`)
  }
} else {
  console.log(
    Object.entries(report.lines)
      .map(([wing, lines]) => `${wing} ${lines}`)
      .join(', '),
    'lines outside of tests\n',
  )
  console.log(
    '| crate | lines | largest circle, files | most methods | most fields ' +
      '| public: unnamed | unused |',
  )
  console.log('|---|---:|---:|---|---|---:|---:|')
  for (const {
    name,
    lines,
    largest_circle,
    most_methods,
    most_fields,
    public_and_unnamed,
    public_and_unused,
  } of report.crates) {
    const methods = most_methods ? `${most_methods.name} ${most_methods.methods}` : ''
    const fields = most_fields ? `${most_fields.name} ${most_fields.fields}` : ''
    const publics = `${public_and_unnamed.length} | ${public_and_unused.length}`
    console.log(`| ${name} | ${lines} | ${largest_circle} | ${methods} | ${fields} | ${publics} |`)
  }
  const sum = (key) => report.crates.reduce((total, crate) => total + crate[key].length, 0)
  console.log(
    `\n${sum('public_and_unnamed')} public items are named in no other crate, ` +
      `what macros export left out; ${sum('public_and_unused')} are in no signature ` +
      'of one that is named, and so unused.',
  )
}
