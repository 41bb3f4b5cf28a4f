// What went wrong in a dialog, said in the dialog: the page behind it is not seen.

import { useState } from 'preact/hooks'

export interface Failures {
  /** What to show; null if nothing went wrong. */
  alert: preact.JSX.Element | null
  /** Waits for a call, and shows why it failed. Returns whether it succeeded. */
  attempt: (call: Promise<unknown>) => Promise<boolean>
}

export function useFailures(): Failures {
  const [reason, setReason] = useState<string | null>(null)
  const attempt = async (call: Promise<unknown>) => {
    try {
      await call
      setReason(null)
      return true
    } catch (failure) {
      setReason((failure as Error).message)
      return false
    }
  }
  const alert =
    reason === null ? null : (
      <p class="dialog-failure" role="alert">
        {reason}
      </p>
    )
  return { alert, attempt }
}
