// What the server refuses, in words of a person. Its answers have the code of a filesystem and a
// detail for programs (RFC 9457).

import { t } from '../language/translate'

export interface Problem {
  title?: string
  detail?: string
  code?: string | null
  path?: string | null
}

/** The longest name that is shown whole, in characters. */
const MAX_SHOWN = 48

/** Cuts a long name in the middle: its beginning and its end tell it apart from others. */
export function shorten(name: string, max = MAX_SHOWN): string {
  const letters = [...name]
  if (letters.length <= max) return name
  const tail = Math.floor(max / 3)
  return `${letters.slice(0, max - tail - 1).join('')}…${letters.slice(-tail).join('')}`
}

const WORDS: Record<string, (name: string) => string> = {
  EEXIST: (name) => t('{name} exists already.', { name }),
  ENOTEMPTY: (name) => t('{name} is not empty.', { name }),
  ENOENT: (name) => t('{name} is not here any more.', { name }),
  EACCES: (name) => t('You may not change {name}.', { name }),
  EPERM: (name) => t('You may not change {name}.', { name }),
  EROFS: () => t('This workspace can only be read.'),
  EINVAL: (name) => t('{name} cannot be used here: the name or the place does not fit.', { name }),
  ENAMETOOLONG: (name) => t('The name {name} is too long.', { name }),
  EISDIR: (name) => t('{name} is a folder.', { name }),
  ENOTDIR: (name) => t('{name} is not a folder.', { name }),
  ESTALE: (name) => t('{name} was changed meanwhile.', { name }),
  EFBIG: (name) => t('{name} is too large.', { name }),
  ENOSPC: () => t('The server has no space left.'),
  EIO: (name) => t('The server cannot read or store {name} now.', { name }),
}

/** Returns why a request was refused. `path` is what it was about, if the answer does not say. */
export function wordsOf(problem: Problem, status: number, path?: string): string {
  const named = path ?? problem.path ?? ''
  const name = shorten(named.slice(named.lastIndexOf('/') + 1)) || t('This')
  const words = WORDS[problem.code ?? '']
  if (words !== undefined) return words(name)
  if (status === 413) return t('{name} is too large.', { name })
  if (status === 503) return t('The server has too much to do. Try again soon.')
  const detail = problem.detail ?? problem.title
  if (detail === undefined) return t('The server refuses this (status {status}).', { status })
  const parts = detail.replace(/^E[A-Z0-9]+: /, '').split(/(\s+)/)
  return parts.map((word) => shorten(word, MAX_SHOWN * 2)).join('')
}

/** Returns an answer that is no refusal; throws the reason of one. */
export async function accepted(response: Response, path?: string): Promise<Response> {
  if (response.ok) return response
  throw new Error(await reasonOf(response, path))
}

/** Reads why a request was refused. */
export async function reasonOf(response: Response, path?: string): Promise<string> {
  const problem = (await response.json().catch(() => ({}))) as Problem
  return wordsOf(problem, response.status, path)
}
