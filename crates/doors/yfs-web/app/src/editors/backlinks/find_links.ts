// Finds the lines of other documents that link to a file. The server searches for its name; what a
// line means is decided here, by the rules by which links open.

import type { EditorWorkspace } from '../../documents'
import { accepted } from '../../session/refusal_words'
import type { FoundFile, SearchResult } from '../../search/search_request'
import type { LinkTargets } from '../markdown/blocks/wiki_links'
import { readSource } from '../markdown/read_source'
import { resolveReference } from '../markdown/workspace_path'

/** How many lines with the name the server returns at most. */
const MAX_LINES = 2000
/** How many documents with lines that are too long for an answer are read whole. */
const MAX_READ = 20
/** How much of a line is searched for links, in UTF-16 code units. */
const MAX_LINE = 100_000
/** How much of a long line is shown before and after its first link, in UTF-16 code units. */
const [BEFORE, AFTER] = [80, 240]

/** A line with links; `marks` are their places in the text. */
export interface LinkLine {
  line: number
  text: string
  marks: [number, number][]
}

export interface LinkingFile {
  path: string
  id: string
  lines: LinkLine[]
}

export interface Backlinks {
  files: LinkingFile[]
  /** Whether the server found more lines than it returned. */
  isCut: boolean
}

const utf8 = new TextEncoder()

/** Returns an expression for a letter of a name as a link may write it. */
function expressionOfLetter(letter: string): string {
  if (/[A-Za-z0-9]/.test(letter)) return letter
  const coded = [...utf8.encode(letter)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
  const plain = letter.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return `(?:\\\\?${plain}|${coded.join('')}${letter === '&' ? '|&amp;' : ''})`
}

const expressionOf = (text: string) => [...text].map(expressionOfLetter).join('')

/** Returns the expression for lines with a wiki link to a name, or another link to an address. */
function linkPattern(name: string, address: string): string {
  const bare = name.replace(/\.(md|markdown)$/i, '')
  return `\\[\\[[^\\[\\]|\\n]*${expressionOf(bare)}|\\](?:\\(|:).*${expressionOf(address)}`
}

const WIKI = /\[\[([^[\]|\n\r]+)(?:\|[^[\]\n\r]+)?\]\]/g
const INLINE = /\]\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))+))/g
const DEFINITION = /^[\s>]*\[(?!\^)[^\]]+\]:\s*(?:<([^<>]*)>|(\S+))/g
const CODE = /(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g

/** Returns an address as it is meant: without the escapes of markdown. */
const unescape = (text: string) =>
  text.replace(/\\([!-/:-@[-`{-~])/g, '$1').replaceAll('&amp;', '&')

/** Returns the places of the links of a line to a file. */
export function linksIn(
  line: string,
  source: string,
  target: string,
  targets: LinkTargets,
): [number, number][] {
  // Code shows a link as it is written.
  const text = line.slice(0, MAX_LINE).replace(CODE, (code) => ' '.repeat(code.length))
  const marks: [number, number][] = []
  const mark = (index: number, { length }: string) => marks.push([index, index + length])
  for (const { 0: whole, 1: page, index } of text.matchAll(WIKI)) {
    if (targets.find(unescape(page!.trim())) === target) mark(index, whole)
  }
  for (const expression of [INLINE, DEFINITION]) {
    for (const { 0: whole, 1: angled, 2: plain, index } of text.matchAll(expression)) {
      const href = angled ?? plain ?? ''
      if (resolveReference(source, unescape(href)) !== target) continue
      mark(index + whole.lastIndexOf(href), href)
    }
  }
  return marks.sort(([a], [b]) => a - b)
}

/** Returns the part of a line that is shown: around its first link if it is long. */
function excerpt(line: number, text: string, marks: [number, number][]): LinkLine {
  const first = marks[0]![0]
  const lead = text.length - text.trimStart().length
  const from = first - lead > BEFORE + AFTER / 2 ? first - BEFORE : lead
  const to = Math.min(text.trimEnd().length, Math.max(first, from) + AFTER)
  const [start, end] = [from > lead ? '…' : '', to < text.trimEnd().length ? '…' : '']
  const moved = marks
    .filter(([mark]) => mark < to)
    .map(([a, b]): [number, number] => [
      a - from + start.length,
      Math.min(b, to) - from + start.length,
    ])
  return { line, text: `${start}${text.slice(from, to)}${end}`, marks: moved }
}

async function search(
  workspace: EditorWorkspace,
  pattern: string,
  path: string,
): Promise<SearchResult> {
  const query = new URLSearchParams({ pattern, limit: String(MAX_LINES) })
  query.set('regex', 'true')
  query.set('ignore_case', 'true')
  if (path !== '') query.set('path', path)
  const response = await accepted(await workspace.fetch(`/api/search?${query}`))
  return (await response.json()) as SearchResult
}

/**
 * Searches for the name of a file. Outside of its directory, an address has the directory too: so
 * many files of one name do not fill the answer.
 */
async function searchName(workspace: EditorWorkspace, path: string): Promise<SearchResult[]> {
  const [name = '', directory = ''] = path.split('/').reverse()
  const inside = path.slice(0, path.lastIndexOf('/'))
  const all = search(
    workspace,
    linkPattern(name, directory === '' ? name : `${directory}/${name}`),
    '',
  )
  if (directory === '') return [await all]
  return Promise.all([all, search(workspace, linkPattern(name, name), inside)])
}

/** Joins the answers of searches: each line once, the files by their paths. */
function joinFiles(results: SearchResult[]): FoundFile[] {
  const joined = new Map<string, FoundFile>()
  for (const file of results.flatMap(({ files }) => files)) {
    const known = joined.get(file.path)
    const lines = new Map([...(known?.lines ?? []), ...file.lines].map((line) => [line.line, line]))
    const sorted = [...lines.values()].sort((a, b) => a.line - b.line)
    joined.set(file.path, { ...file, lines: sorted, cut: file.cut || known?.cut === true })
  }
  return [...joined.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Reads the lines of a document that the answer of a search has only in part. */
async function readWhole(workspace: EditorWorkspace, file: FoundFile): Promise<FoundFile> {
  try {
    const source = await readSource(workspace, file.path)
    const whole = source!.text.split(/\r\n|\n|\r/)
    const lines = file.lines.map((found) => ({ ...found, text: whole[found.line - 1] ?? '' }))
    return { ...file, lines }
  } catch {
    return file
  }
}

/** Finds the documents that link to the file at a path. */
export async function findBacklinks(
  workspace: EditorWorkspace,
  path: string,
  targets: LinkTargets,
): Promise<Backlinks> {
  const results = await searchName(workspace, path)
  const files = joinFiles(results)
  const found: LinkingFile[] = []
  let nRead = 0
  for (let file of files) {
    if (file.path === path || !/\.(md|markdown)$/i.test(file.path)) continue
    if (file.lines.some(({ cut }) => cut) && nRead < MAX_READ) {
      nRead += 1
      file = await readWhole(workspace, file)
    }
    const lines = file.lines.flatMap(({ line, text }) => {
      const marks = linksIn(text, file.path, path, targets)
      return marks.length === 0 ? [] : [excerpt(line, text, marks)]
    })
    if (lines.length > 0) found.push({ path: file.path, id: file.id, lines })
  }
  const isCut = results.some(({ totals }) => totals.cut !== null) || files.some(({ cut }) => cut)
  return { files: found, isCut }
}
