// Calls that an `AbortSignal` ends.

import { asking } from './errors.js'
import { native, type NativeCancellation } from './native.js'

/**
 * Awaits a call of the native half. Rejects with the reason of the signal if that is aborted before
 * the call is done.
 */
export async function abortable<T>(
  signal: AbortSignal | undefined,
  call: (cancellation: NativeCancellation | null) => Promise<T>,
): Promise<T> {
  if (signal === undefined) return asking(() => call(null))
  signal.throwIfAborted()
  const cancellation = new native.NativeCancellation()
  const cancel = (): void => cancellation.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await asking(() => call(cancellation))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
