// Languages of code and their colors; loaded when a document has code with a language.

import { LanguageDescription } from '@codemirror/language'
import { languages } from '@codemirror/language-data'
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight'

/** A piece of a text with the classes of its color. */
export interface ColoredSpan {
  from: number
  to: number
  classes: string
}

export type CodeColorizer = (text: string) => ColoredSpan[]

const highlighter = tagHighlighter([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], class: 'code-keyword' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], class: 'code-string' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: 'code-number' },
  { tag: [tags.comment, tags.meta], class: 'code-comment' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    class: 'code-function',
  },
  { tag: [tags.typeName, tags.className, tags.tagName], class: 'code-type' },
  { tag: [tags.propertyName, tags.attributeName], class: 'code-property' },
  { tag: tags.inserted, class: 'code-string' },
  { tag: tags.deleted, class: 'code-number' },
  { tag: tags.heading, class: 'code-keyword' },
])

/** Loads what colors code of a language; null if the language is not known. */
export async function loadColorizer(name: string): Promise<CodeColorizer | null> {
  const known = LanguageDescription.matchLanguageName(languages, name, false)
  return known === null ? null : colorizerOf(known)
}

/** Loads what colors code of a language that is known. */
export async function colorizerOf(known: LanguageDescription): Promise<CodeColorizer> {
  const { parser } = (await known.load()).language
  return (text) => {
    const spans: ColoredSpan[] = []
    highlightTree(parser.parse(text), highlighter, (from, to, classes) =>
      spans.push({ from, to, classes }),
    )
    return spans
  }
}

/** Returns the names that the chooser offers: the shortest one of each language. */
export function languageNames(): string[] {
  const names = languages.map(({ name, alias }) =>
    [name.toLowerCase(), ...alias].find((candidate) => /^[\w+#-]+$/.test(candidate)),
  )
  return [...names.filter((name) => name !== undefined), 'math', 'mermaid'].sort()
}
