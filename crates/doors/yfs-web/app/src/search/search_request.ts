// The request for a search in all files, and its answer.

import type { Session } from '../session/workspace'

export interface FoundLine {
  /** The number of the line, from 1. */
  line: number
  text: string
  /** Ranges in bytes of the text. */
  matches: [number, number][]
  /** Whether the text is only a part of the line. */
  cut: boolean
}

export interface FoundFile {
  path: string
  id: string
  lines: FoundLine[]
  cut: boolean
}

export interface SearchResult {
  files: FoundFile[]
  totals: { matches: number; cut: string | null }
}

export interface SearchOptions {
  pattern: string
  isExpression: boolean
  matchesCase: boolean
  wholeWords: boolean
  /** The directory or file to search in; empty for all. */
  path: string
}

/** Asks the server for the lines of all files that have a pattern. */
export async function searchFiles(session: Session, options: SearchOptions): Promise<SearchResult> {
  const { pattern, isExpression, matchesCase, wholeWords, path } = options
  const query = new URLSearchParams({ pattern })
  if (isExpression) query.set('regex', 'true')
  if (!matchesCase) query.set('ignore_case', 'true')
  if (wholeWords) query.set('word', 'true')
  if (path !== '') query.set('path', path)
  return (await session.call('GET', `/api/search?${query}`)).json() as Promise<SearchResult>
}

/** Returns the expression of JavaScript that finds what a search found in a line. */
export function expressionOf({ pattern, ...options }: SearchOptions): RegExp {
  const { isExpression, matchesCase, wholeWords } = options
  const plain = isExpression ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const whole = wholeWords ? `(?<![\\p{L}\\p{N}_])(?:${plain})(?![\\p{L}\\p{N}_])` : plain
  return new RegExp(whole, matchesCase ? 'gu' : 'giu')
}
