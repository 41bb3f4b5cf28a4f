// What went wrong, for a person, until the next message or a click.

import { signal } from '@preact/signals'

export const message = signal<string | null>(null)

/** Waits for a call, and shows why it failed. Returns whether it succeeded. */
export async function report(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    message.value = null
    return true
  } catch (failure) {
    message.value = (failure as Error).message
    return false
  }
}
