// Code with colors where nothing is edited.

import { LanguageDescription } from '@codemirror/language'
import { languages } from '@codemirror/language-data'
import { colorizerOf, loadColorizer, type CodeColorizer } from './code_languages'
import './code.css'

/** Loads what colors a file of this name; null if its language is not known. */
export async function colorOfFile(name: string): Promise<CodeColorizer | null> {
  const known = LanguageDescription.matchFilename(languages, name)
  return known === null ? null : colorizerOf(known)
}

/** Loads what colors code of a language; null if it is not known. */
export const colorOfLanguage = (name: string): Promise<CodeColorizer | null> => loadColorizer(name)

/** Gives the text of an element its colors. */
export function showColored(code: HTMLElement, colorize: CodeColorizer): void {
  const text = code.textContent
  const parts: (string | Node)[] = []
  let at = 0
  for (const { from, to, classes } of colorize(text)) {
    const span = document.createElement('span')
    span.className = classes
    span.textContent = text.slice(from, to)
    parts.push(text.slice(at, from), span)
    at = to
  }
  code.replaceChildren(...parts, text.slice(at))
}
