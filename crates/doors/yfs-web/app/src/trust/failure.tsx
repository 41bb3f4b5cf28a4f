// What went wrong in a dialog, said in the dialog: the page behind it is not seen.

import { useState } from 'preact/hooks'
import { t } from '../language/translate'

/** Says a failure of the server in words; its codes are for programs. */
export function reasonText(failure: unknown): string {
  const { message } = failure as Error
  switch (/^(E[A-Z]+)\b/.exec(message)?.[1]) {
    case 'EEXIST':
      return t('There is something with this name already.')
    case 'ENOENT':
      return t('It is not there any more.')
    case 'EACCES':
    case 'EPERM':
      return t('Your link does not allow this change.')
    case 'EINVAL':
    case 'ENAMETOOLONG':
      return t('This is no name that a file can have.')
    case 'ENOTDIR':
      return t('A part of this path is a file, not a folder.')
    default:
      return message
  }
}

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
      setReason(reasonText(failure))
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
