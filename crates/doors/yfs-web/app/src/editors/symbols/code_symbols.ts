// The symbols of a text: functions, classes and keys of code, headings of markdown.

import { ensureSyntaxTree, language, StreamLanguage } from '@codemirror/language'
import type { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { IterMode, Tree, type SyntaxNodeRef } from '@lezer/common'
import type { DocumentSymbols, EditorSymbol } from '../mounted_editor'
import { lineSymbols } from './line_symbols'
import { headingLevel, SYMBOL_RULES, type SymbolKind, type SymbolRules } from './symbol_rules'

/** How many symbols are listed, and how much of a name. */
const MAX_SYMBOLS = 10_000
const MAX_NAME = 120
/** How long the text is parsed before the page may paint. */
const SLICE_MS = 40

interface FoundSymbol {
  kind: SymbolKind
  name: string
  at: number
  depth: number
}

const squeezed = (name: string) => name.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME)

/** Parses all of the text that a view has. */
async function parseAll(view: EditorView): Promise<Tree> {
  for (;;) {
    if (view.state.facet(language) === null) return Tree.empty
    const tree = ensureSyntaxTree(view.state, view.state.doc.length, SLICE_MS)
    if (tree !== null) return tree
    await new Promise((resolve) => setTimeout(resolve))
  }
}

/** Reads the symbols of a tree; each is one level below the symbols around it. */
function treeSymbols({ doc }: EditorState, tree: Tree, rules: SymbolRules): FoundSymbol[] {
  const found: FoundSymbol[] = []
  const open: number[] = []
  const enter = ({ name: type, from, to, node }: SyntaxNodeRef): boolean => {
    if (found.length === MAX_SYMBOLS) return false
    const rule = Object.hasOwn(rules, type) ? rules[type] : undefined
    const name = squeezed(rule?.nameOf(node, doc) ?? '')
    if (rule === undefined || name === '') return true
    while (open.length > 0 && open.at(-1)! <= from) open.pop()
    const level = headingLevel(type)
    found.push({ kind: rule.kind, name, at: from, depth: level > 0 ? level - 1 : open.length })
    if (level === 0) open.push(to)
    return true
  }
  // The code in a block of markdown is not what the document consists of.
  const isMarkdown = rules === SYMBOL_RULES['markdown']
  tree.iterate({ enter, ...(isMarkdown && { mode: IterMode.IgnoreMounts }) })
  return found
}

/** Gives the symbols of lines the depth of their indentation. */
function indentedSymbols({ doc }: EditorState, tree: Tree): FoundSymbol[] {
  const above: number[] = []
  return lineSymbols(doc, tree, MAX_SYMBOLS).map(({ kind, name, at, indent }) => {
    while (above.length > 0 && above.at(-1)! >= indent) above.pop()
    above.push(indent)
    return { kind, name: squeezed(name), at, depth: above.length - 1 }
  })
}

function symbolsOf(state: EditorState, tree: Tree): FoundSymbol[] {
  const used = state.facet(language)
  if (used === null) return []
  const rules = SYMBOL_RULES[used.name]
  if (rules !== undefined) return treeSymbols(state, tree, rules)
  return used instanceof StreamLanguage ? indentedSymbols(state, tree) : []
}

function goTo(view: EditorView, at: number): void {
  const anchor = Math.min(at, view.state.doc.length)
  view.dispatch({
    selection: { anchor },
    effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
  })
  view.focus()
}

/** Returns the symbols of the text that a view has, in their order. */
export async function codeSymbols(view: EditorView): Promise<DocumentSymbols> {
  const tree = await parseAll(view)
  const { state } = view
  const found = symbolsOf(state, tree)
  const { head } = state.selection.main
  const symbols = found.map(({ kind, name, at, depth }): EditorSymbol => ({
    kind,
    name,
    depth,
    go: () => goTo(view, at),
  }))
  return { symbols, current: found.findLastIndex(({ at }) => at <= head) }
}
