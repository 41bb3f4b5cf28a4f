// Errors of arguments that make no sense, in the words of Node.

import { inspect } from 'node:util'

/** Makes the error of an argument of the wrong type. */
export function wrongType(name: string, expected: string, value: unknown): TypeError {
  const kind = name.includes('.') ? 'property' : 'argument'
  const error = new TypeError(`The "${name}" ${kind} must be ${expected}.${received(value)}`)
  return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' })
}

/** Makes the error of an argument that is of the right type and still makes no sense. */
export function wrongValue(name: string, reason: string, value: unknown): TypeError {
  const kind = name.includes('.') ? 'property' : 'argument'
  const error = new TypeError(`The ${kind} '${name}' ${reason}. Received ${inspect(value)}`)
  return Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' })
}

/** Makes the error of a number that is too small, too large or no integer. */
export function outOfRange(name: string, range: string, value: unknown): RangeError {
  const error = new RangeError(
    `The value of "${name}" is out of range. It must be ${range}. Received ${inspect(value)}`,
  )
  return Object.assign(error, { code: 'ERR_OUT_OF_RANGE' })
}

function received(value: unknown): string {
  if (value === null || value === undefined) return ` Received ${value}`
  if (typeof value === 'function') return ` Received function ${value.name}`
  if (typeof value === 'object') {
    const { name } = value.constructor ?? {}
    return name ? ` Received an instance of ${name}` : ` Received ${inspect(value, { depth: -1 })}`
  }
  let shown = inspect(value, { colors: false })
  if (shown.length > 28) shown = `${shown.slice(0, 25)}...`
  return ` Received type ${typeof value} (${shown})`
}
