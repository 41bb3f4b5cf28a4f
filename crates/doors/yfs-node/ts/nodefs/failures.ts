// Errors as `fs` of Node throws them, in the words of libuv.

import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'
import { YfsError } from '../errors.js'

/** The words of libuv, by code. */
const WORDS = new Map([...getSystemErrorMap().values()])

/** Makes the error of a system call. */
export function failure(code: string, syscall: string, path?: string, dest?: string): YfsError {
  const at = path === undefined ? '' : ` '${path}'`
  const to = dest === undefined ? '' : ` -> '${dest}'`
  const error = new YfsError(`${code}: ${WORDS.get(code) ?? 'unknown error'}, ${syscall}${at}${to}`)
  const errno = -(constants.errno as Record<string, number>)[code]!
  return Object.assign(
    error,
    { errno, code, syscall },
    path === undefined ? {} : { path },
    dest === undefined ? {} : { dest },
  )
}

/** Returns the code of an error, if it has one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
}

/** Says an error of the workspace as that of a system call; what is no such error stays. */
export function asSystemError(
  error: unknown,
  syscall: string,
  path?: string,
  dest?: string,
): unknown {
  const code = codeOf(error)
  if (code === undefined || code.startsWith('ERR_')) return error
  const renamed = failure(code, syscall, path, dest)
  if (error instanceof Error && error.cause !== undefined) renamed.cause = error.cause
  return renamed
}

/** An error of `fs.rm` and `fs.cp`, which say more than a code of the system. */
export function systemError(code: string, text: string, context: Context): YfsError {
  const { syscall, reason, message, path, dest } = context
  const at = path === undefined ? '' : ` ${path}`
  const to = dest === undefined ? '' : ` => ${dest}`
  const error = new YfsError(`${text}: ${syscall} returned ${reason} (${message})${at}${to}`)
  error.name = 'SystemError'
  const errno = (constants.errno as Record<string, number>)[reason]
  return Object.assign(
    error,
    { code, errno, syscall, info: { ...context, code: reason, errno } },
    path === undefined ? {} : { path },
    dest === undefined ? {} : { dest },
  )
}

/** What a `systemError` is about. */
export interface Context {
  syscall: string
  reason: string
  message: string
  path?: string
  dest?: string
}
