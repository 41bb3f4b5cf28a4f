// Replaces what a search found, file by file: each file is written by a merge against the version
// that was read, so that what others write meanwhile stays. Undo merges the way back in the same
// manner.

import { fileUrl } from '../session/file_url'
import { mergeFile } from '../session/merge_file'
import { accepted } from '../session/refusal_words'
import type { Session } from '../session/workspace'

export interface FileChange {
  path: string
  before: string
  /** The version that the change made. */
  etag: string | null
}

export interface ReplaceOutcome {
  changes: FileChange[]
  nReplaced: number
  /** The files that could not be written, with the reasons. */
  failures: string[]
}

interface ReplaceRequest {
  expression: RegExp
  /** The replacement; `$1` is a group if the search is an expression. */
  replacement: string
  isExpression: boolean
  /** The chosen lines of each file, from 1. */
  lines: Map<string, Set<number>>
}

const LINE_END = /(\r\n|\n|\r)/

/** Replaces in the chosen lines of a text; returns it with the number of replacements. */
export function replaceInLines(
  text: string,
  chosen: ReadonlySet<number>,
  { expression, replacement, isExpression }: Omit<ReplaceRequest, 'lines'>,
): { text: string; n: number } {
  let n = 0
  const written = isExpression ? replacement : replacement.replaceAll('$', '$$$$')
  const parts = text.split(LINE_END)
  // Lines as the server counts them: a CR alone ends none.
  let line = 1
  for (let at = 0; at < parts.length; at += 2) {
    if (chosen.has(line)) {
      n += parts[at]!.match(expression)?.length ?? 0
      parts[at] = parts[at]!.replace(expression, written)
    }
    if (parts[at + 1] !== '\r') line += 1
  }
  return { text: parts.join(''), n }
}

async function read(
  session: Session,
  path: string,
): Promise<{ text: string; etag: string | null }> {
  const response = await session.call('GET', fileUrl(path))
  const bytes = await response.arrayBuffer()
  const text = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(bytes)
  return { text, etag: response.headers.get('ETag') }
}

/** Replaces in all chosen lines. */
export async function replaceInFiles(
  session: Session,
  request: ReplaceRequest,
): Promise<ReplaceOutcome> {
  const outcome: ReplaceOutcome = { changes: [], nReplaced: 0, failures: [] }
  for (const [path, chosen] of request.lines) {
    try {
      const { text, etag } = await read(session, path)
      const replaced = replaceInLines(text, chosen, request)
      if (replaced.text === text) continue
      const response = await accepted(await mergeFile(session, path, replaced.text, etag))
      const merged = response.headers.get('ETag') ?? (await read(session, path)).etag
      outcome.changes.push({ path, before: text, etag: merged })
      outcome.nReplaced += replaced.n
    } catch (failure) {
      outcome.failures.push(`${path}: ${(failure as Error).message}`)
    }
  }
  return outcome
}

/** Takes a replacement back, and keeps what others wrote since. Returns the failures. */
export async function undoReplace(session: Session, changes: FileChange[]): Promise<string[]> {
  const failures: string[] = []
  for (const { path, before, etag } of changes) {
    try {
      await accepted(await mergeFile(session, path, before, etag))
    } catch (failure) {
      failures.push(`${path}: ${(failure as Error).message}`)
    }
  }
  return failures
}
