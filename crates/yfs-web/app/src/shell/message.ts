// What went wrong, for a person, until the next message or a click.

import { signal } from '@preact/signals'

export const message = signal<string | null>(null)

/** Waits for a call, and shows why it failed. */
export async function report(call: Promise<unknown>): Promise<void> {
  try {
    await call
    message.value = null
  } catch (failure) {
    message.value = (failure as Error).message
  }
}
