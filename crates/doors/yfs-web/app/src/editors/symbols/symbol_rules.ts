// Which nodes of the syntax trees are symbols, and where their names are: a table for each language
// that has a tree. Languages without one are read by lines (`line_symbols.ts`).

import type { Text } from '@codemirror/state'
import type { SyntaxNode } from '@lezer/common'

export type SymbolKind =
  'heading' | 'function' | 'class' | 'type' | 'module' | 'variable' | 'key' | 'rule' | 'element'

export interface SymbolRule {
  kind: SymbolKind
  /** Returns the name of a node; null if it is no symbol. */
  nameOf: (node: SyntaxNode, doc: Text) => string | null
}

export type SymbolRules = Record<string, SymbolRule>

/** How deep below a node its name may be. */
const MAX_DEPTH = 2

function findBelow(node: SyntaxNode, names: string[], depth = MAX_DEPTH): SyntaxNode | null {
  const below: SyntaxNode[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (names.includes(child.name)) return child
    below.push(child)
  }
  if (depth === 1) return null
  for (const child of below) {
    const found = findBelow(child, names, depth - 1)
    if (found !== null) return found
  }
  return null
}

const textOf = ({ from, to }: { from: number; to: number }, doc: Text) => doc.sliceString(from, to)

/** The name is the first node of some names, beside the node's children or one level below. */
const named =
  (...names: string[]) =>
  (node: SyntaxNode, doc: Text) => {
    const found = findBelow(node, names)
    return found === null ? null : textOf(found, doc)
  }

/** The name is all that stands before a child, else the first line. */
const before =
  (...names: string[]) =>
  (node: SyntaxNode, doc: Text) => {
    const body = findBelow(node, names, 1)
    const to = body?.from ?? Math.min(node.to, doc.lineAt(node.from).to)
    return textOf({ from: node.from, to }, doc)
  }

const rules = (kind: SymbolKind, nameOf: SymbolRule['nameOf'], ...nodes: string[]): SymbolRules =>
  Object.fromEntries(nodes.map((node) => [node, { kind, nameOf }]))

/** Restricts a rule to nodes for which a condition holds. */
const only =
  (condition: (node: SyntaxNode) => boolean, nameOf: SymbolRule['nameOf']) =>
  (node: SyntaxNode, doc: Text) => (condition(node) ? nameOf(node, doc) : null)

const has = (node: SyntaxNode, ...names: string[]) => findBelow(node, names, 1) !== null

const FUNCTIONS = ['ArrowFunction', 'FunctionExpression']

/** Whether a variable of JavaScript holds a function or a class, or is one of the module. */
function isDeclared(node: SyntaxNode): boolean {
  const { parent } = node
  if (parent?.name !== 'VariableDeclaration') return false
  const value = node.nextSibling?.nextSibling?.name ?? ''
  if ([...FUNCTIONS, 'ClassExpression'].includes(value)) return true
  const above = parent.parent?.name
  return above === 'Script' || above === 'ExportDeclaration'
}

const javascript: SymbolRules = {
  ...rules(
    'function',
    named('VariableDefinition'),
    'FunctionDeclaration',
    'AmbientFunctionDeclaration',
  ),
  ...rules('class', named('VariableDefinition'), 'ClassDeclaration'),
  ...rules(
    'function',
    named('PropertyDefinition', 'PrivatePropertyDefinition'),
    'MethodDeclaration',
    'MethodType',
  ),
  ...rules(
    'type',
    named('TypeDefinition'),
    'InterfaceDeclaration',
    'TypeAliasDeclaration',
    'EnumDeclaration',
  ),
  ...rules('module', named('VariableDefinition'), 'NamespaceDeclaration'),
  ...rules('variable', only(isDeclared, textOf), 'VariableDefinition'),
  ...rules(
    'function',
    only((node) => has(node, 'ParamList', ...FUNCTIONS), named('PropertyDefinition')),
    'Property',
  ),
}

const python: SymbolRules = {
  ...rules('function', named('VariableName'), 'FunctionDefinition'),
  ...rules('class', named('VariableName'), 'ClassDefinition'),
  ...rules(
    'variable',
    only((node) => node.parent?.name === 'Script', named('VariableName')),
    'AssignStatement',
  ),
}

const rust: SymbolRules = {
  ...rules('function', named('BoundIdentifier'), 'FunctionItem'),
  ...rules('function', named('Identifier'), 'MacroDefinition'),
  ...rules(
    'type',
    named('TypeIdentifier'),
    'StructItem',
    'EnumItem',
    'UnionItem',
    'TraitItem',
    'TypeItem',
  ),
  ...rules('class', before('DeclarationList'), 'ImplItem'),
  ...rules('module', named('BoundIdentifier'), 'ModItem'),
  ...rules('variable', named('BoundIdentifier'), 'ConstItem', 'StaticItem'),
}

const ofModule = (node: SyntaxNode) => node.parent?.parent?.name === 'SourceFile'

const go: SymbolRules = {
  ...rules('function', named('DefName'), 'FunctionDecl'),
  ...rules('function', named('FieldName'), 'MethodDecl', 'MethodElem'),
  ...rules('type', named('DefName'), 'TypeSpec'),
  ...rules('variable', only(ofModule, named('DefName')), 'ConstSpec', 'VarSpec'),
}

const java: SymbolRules = {
  ...rules('class', named('Definition'), 'ClassDeclaration', 'RecordDeclaration'),
  ...rules('type', named('Definition'), 'InterfaceDeclaration', 'EnumDeclaration'),
  ...rules('type', named('Identifier'), 'AnnotationTypeDeclaration'),
  ...rules('function', named('Definition'), 'MethodDeclaration', 'ConstructorDeclaration'),
}

const C_BODIES = ['FieldDeclarationList', 'EnumeratorList']

const cpp: SymbolRules = {
  ...rules('function', before('ParameterList'), 'FunctionDeclarator'),
  ...rules(
    'class',
    only((node) => has(node, ...C_BODIES), named('TypeIdentifier')),
    'ClassSpecifier',
    'StructSpecifier',
    'UnionSpecifier',
    'EnumSpecifier',
  ),
  ...rules('type', named('TypeIdentifier'), 'TypeDefinition', 'AliasDeclaration'),
  ...rules('module', named('Identifier', 'NamespaceIdentifier'), 'NamespaceDefinition'),
  ...rules(
    'variable',
    only((node) => has(node, '#define'), named('Identifier')),
    'PreprocDirective',
  ),
}

const php: SymbolRules = {
  ...rules('function', named('Name'), 'FunctionDefinition', 'MethodDeclaration'),
  ...rules('class', named('Name'), 'ClassDeclaration', 'TraitDeclaration'),
  ...rules('type', named('Name'), 'InterfaceDeclaration', 'EnumDeclaration'),
  ...rules('module', named('Name', 'QualifiedName'), 'NamespaceDefinition'),
}

const css: SymbolRules = rules(
  'rule',
  before('Block', 'KeyframeList'),
  'RuleSet',
  'MediaStatement',
  'SupportsStatement',
  'KeyframesStatement',
  'LayerStatement',
  'ContainerStatement',
  'AtRule',
  'MixinStatement',
)

/** Returns an element of HTML or XML as a selector names it. */
function elementName(node: SyntaxNode, doc: Text): string | null {
  const tag = node.firstChild
  const name = tag?.getChild('TagName')
  if (tag == null || name == null) return null
  for (const attribute of tag.getChildren('Attribute')) {
    const key = attribute.getChild('AttributeName')
    const value = attribute.getChild('AttributeValue')
    if (key === null || value === null || textOf(key, doc) !== 'id') continue
    return `${textOf(name, doc)}#${textOf(value, doc).replace(/['"]/g, '')}`
  }
  return textOf(name, doc)
}

/** Elements of HTML are many: the headings, and those with an id. */
function htmlName(node: SyntaxNode, doc: Text): string | null {
  const name = elementName(node, doc) ?? ''
  if (name.includes('#')) return name
  if (!/^h[1-6]$/i.test(name)) return null
  return textOf({ from: node.firstChild!.to, to: node.to }, doc).replace(/<[^>]*>/g, '')
}

const html = rules('element', htmlName, 'Element')
const xml = rules('element', elementName, 'Element')

const unquoted = (nameOf: SymbolRule['nameOf']) => (node: SyntaxNode, doc: Text) =>
  nameOf(node, doc)?.replace(/^(['"])(.*)\1$/, '$2') ?? null

const json = rules('key', unquoted(named('PropertyName')), 'Property')
const yaml = rules('key', unquoted(named('Key')), 'Pair')

const sql = rules(
  'type',
  (node, doc) => {
    const head = before('Parens')(node, doc)
    return /^\s*create\b/i.test(head) ? head.replace(/^\s*create\s+|[\s;]+$/gi, '') : null
  },
  'Statement',
)

const HEADINGS = ['ATXHeading', 'SetextHeading'].flatMap((form) =>
  [1, 2, 3, 4, 5, 6].map((level) => `${form}${level}`),
)

const markdown = rules(
  'heading',
  (node, doc) => {
    const text = textOf(node, doc)
    return text.replace(/^#+\s*|\s+#+\s*$|\n[=-]+\s*$/g, '')
  },
  ...HEADINGS,
)

const wast = rules(
  'function',
  (node, doc) => {
    const word = node.getChild('Keyword')
    const name = node.getChild('Identifier')
    if (word === null || name?.prevSibling?.from !== word.from) return null
    return `${textOf(word, doc)} ${textOf(name, doc)}`
  },
  'App',
)

const jinja = rules('rule', named('Definition'), 'BlockStatement', 'MacroStatement')

/** Languages within others. */
const page = { ...html, ...css, ...javascript }

/** The rules of each language, by the name that it gives itself. */
export const SYMBOL_RULES: Record<string, SymbolRules> = {
  angular: html,
  cpp,
  css,
  go,
  html: page,
  java,
  javascript,
  jinja: { ...html, ...jinja },
  json,
  less: css,
  liquid: html,
  markdown,
  php: { ...html, ...php },
  python,
  rust,
  sass: css,
  sql,
  typescript: javascript,
  vue: page,
  wast,
  xml,
  yaml,
}

/** Returns the level of a heading; 0 for all else. */
export const headingLevel = (node: string): number =>
  /^(?:ATX|Setext)Heading\d$/.test(node) ? Number(node.at(-1)) : 0
