// Errors with the messages of just-bash, because its commands parse only the messages.

import { YfsError } from '../errors.js'

/** What just-bash says of codes. */
const TEXTS: Record<string, string> = {
  EINVAL: 'invalid argument',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted',
  EEXIST: 'file already exists',
}

/** The calls that name themselves in ELOOP; for the others, just-bash mostly reports an `open`. */
const SAYS_ITSELF = new Set(['lstat', 'scandir'])

/** Makes an error that says what was attempted on what. */
export function fail(code: string, text: string, op: string, path: string): YfsError {
  return Object.assign(plain(code, `${code}: ${text}, ${op} '${path}'`), { syscall: op, path })
}

/** Makes an error with a message of its own. */
export function plain(code: string, message: string): YfsError {
  return Object.assign(new YfsError(message), { code })
}

/** Says that nothing is at a path. */
export function missing(op: string, path: string): YfsError {
  return fail('ENOENT', 'no such file or directory', op, path)
}

/** Says that a directory is where content was asked for, or given. */
export function noFile(op: string, path: string): YfsError {
  return fail('EISDIR', 'illegal operation on a directory', op, path)
}

/** Returns the code of what a workspace threw. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof YfsError ? error.code : undefined
}

/** Says what a workspace threw in the words of just-bash. */
export function translated(error: unknown, op: string, path: string): unknown {
  const code = codeOf(error)
  // A file on the way is, to just-bash, a path that is not there.
  if (code === 'ENOENT' || (code === 'ENOTDIR' && op !== 'scandir')) return missing(op, path)
  const text = TEXTS[code ?? '']
  if (code === undefined || text === undefined) return error
  return fail(code, text, code === 'ELOOP' && !SAYS_ITSELF.has(op) ? 'open' : op, path)
}
