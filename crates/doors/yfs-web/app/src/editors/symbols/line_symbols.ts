// Symbols of languages that have tokens and no tree, as the beginnings of lines name them.

import type { Text } from '@codemirror/state'
import type { Tree } from '@lezer/common'
import type { SymbolKind } from './symbol_rules'

export interface LineSymbol {
  kind: SymbolKind
  name: string
  at: number
  indent: number
}

/** Words that declare a name, in any of these languages. */
const WORDS: Record<string, SymbolKind> = {
  ...Object.fromEntries(
    'def defp defmacro defun defn fn fun func function sub proc procedure macro rpc task'
      .split(' ')
      .map((word): [string, SymbolKind] => [word, 'function']),
  ),
  ...Object.fromEntries(
    'class struct object record trait protocol extension actor entity'
      .split(' ')
      .map((word): [string, SymbolKind] => [word, 'class']),
  ),
  ...Object.fromEntries(
    'interface enum type typealias message service union'
      .split(' ')
      .map((word): [string, SymbolKind] => [word, 'type']),
  ),
  ...Object.fromEntries(
    'module namespace package defmodule'
      .split(' ')
      .map((word): [string, SymbolKind] => [word, 'module']),
  ),
}

const NAME = String.raw`([\p{L}_$@][\p{L}\p{N}_.$:?!*'/-]*)`
const DECLARED = new RegExp(
  String.raw`^\s*\(?(?:[a-z]+\s+){0,4}?(${Object.keys(WORDS).join('|')})[\s(]+${NAME}`,
  'u',
)
const MODIFIER = 'public|private|protected|internal|static|override|virtual|abstract|async|final'

/** Other forms of a line that names what follows. */
const FORMS: [RegExp, SymbolKind][] = [
  // Shell: `name() {`.
  [/^\s*([\w:.-]+)\s*\(\)\s*\{?\s*$/, 'function'],
  // R: `name <- function(`.
  [/^\s*([\w.]+)\s*(?:<-|=)\s*function\b/, 'function'],
  // C# and its like: `public int Name(`.
  [new RegExp(String.raw`^\s*(?:(?:${MODIFIER})\s+)+[^=;(]*?([\w~]+)\s*\([^;]*$`), 'function'],
  // TOML and INI: `[section]`, and a key in its first column.
  [/^\s*\[\[?([^\]]+)\]\]?\s*$/, 'module'],
  [/^([\w.-]+)\s*[=:](?![=:])/, 'key'],
  // Stages of a Dockerfile.
  [/^FROM\s+\S+\s+AS\s+(\S+)/i, 'module'],
  // LaTeX and Gherkin.
  [/^\s*\\(?:part|chapter|(?:sub)*section)\*?\{([^}]*)\}/, 'heading'],
  [/^\s*(?:Feature|Rule|Background|Scenario(?: Outline)?):\s*(.+)$/, 'heading'],
]

function symbolOf(line: string): { kind: SymbolKind; name: string; column: number } | null {
  const declared = DECLARED.exec(line)
  if (declared !== null) {
    const name = declared[2]!.replace(/[:(]+$/, '')
    return { kind: WORDS[declared[1]!]!, name, column: declared[0].length - declared[2]!.length }
  }
  for (const [form, kind] of FORMS) {
    const name = form.exec(line)?.[1]
    if (name !== undefined) return { kind, name, column: line.indexOf(name) }
  }
  return null
}

/** Whether a place is in a comment or a string. */
export function isProse(tree: Tree, at: number): boolean {
  return /comment|string/i.test(tree.resolveInner(at, 1).name)
}

export function lineSymbols(doc: Text, tree: Tree, limit: number): LineSymbol[] {
  const found: LineSymbol[] = []
  let from = 0
  for (const line of doc.iterLines()) {
    const symbol = line.length > 500 ? null : symbolOf(line)
    if (symbol !== null && !isProse(tree, from + symbol.column)) {
      const indent = line.length - line.trimStart().length
      found.push({ kind: symbol.kind, name: symbol.name, at: from + symbol.column, indent })
      if (found.length === limit) return found
    }
    from += line.length + 1
  }
  return found
}
