// Errors as Node has them: made of the JSON that the native half throws.

/** An error of a workspace or its files: `code`, and what was attempted on what. */
export class YfsError extends Error {
  /** Why: a POSIX code such as `ENOENT`, or one that begins with `ERR_`. */
  declare code: string
  /** What the host's kernel calls the code, negative. */
  declare errno?: number
  /** What was attempted. */
  declare syscall?: string
  /** On what. */
  declare path?: string
  /** The second path of an operation that has two. */
  declare dest?: string
  /** The cause, if it says more than the code; it ends the message as well. */
  declare reason?: string
  /** Whether a cursor is too old, so that everything must be listed again. */
  declare cursorLost?: boolean
}

/** Makes an error in Node's form. */
export function errorOf(
  code: string,
  text: string,
  syscall: string,
  path: string,
  dest?: string,
): YfsError {
  const to = dest === undefined ? '' : ` -> '${dest}'`
  const error = new YfsError(`${code}: ${text}, ${syscall} '${path}'${to}`)
  Object.assign(error, { code, syscall, path }, dest === undefined ? {} : { dest })
  return error
}

/** Says what the native half threw; anything else is passed on. */
export function lifted(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !thrown.message.startsWith('{')) return thrown
  let reason: { message: string; cause?: string | null } & Record<string, unknown>
  try {
    reason = JSON.parse(thrown.message) as typeof reason
  } catch {
    return thrown
  }
  const [message, cause] = [reason.message, reason.cause || undefined]
  const error =
    cause === undefined
      ? new YfsError(message)
      : new YfsError(`${message}: ${cause}`, { cause: new Error(cause) })
  if (cause !== undefined) error.reason = cause
  for (const name of ['code', 'errno', 'syscall', 'path', 'dest'] as const) {
    if (reason[name] !== null && reason[name] !== undefined)
      Object.assign(error, { [name]: reason[name] })
  }
  if (reason.lost) error.cursorLost = true
  return error
}

/** Calls the native half and lifts what it throws. */
export function calling<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw lifted(error)
  }
}

/** Awaits the native half and lifts what it throws. */
export async function asking<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw lifted(error)
  }
}
