// What a person must know of the connection: nothing, as long as there is one.

import { useEffect } from 'preact/hooks'
import { NEEDS_SERVER } from '../session/server_away'
import type { Session } from '../session/workspace'
import { t } from '../language/translate'
import { message } from './message'

export function ConnectionBanner({ session }: { session: Session }) {
  const isOnline = session.isOnline.value
  useEffect(() => {
    if (isOnline && message.peek() === NEEDS_SERVER) message.value = null
  }, [isOnline])
  if (session.refusal.value !== null) {
    return (
      <p class="banner is-error" role="alert">
        {session.refusal.value}
      </p>
    )
  }
  if (isOnline) return null
  return (
    <p class="banner" role="status">
      {t(
        'No connection to the server. You can go on in the files that you opened before; your changes are sent when it is back.',
      )}
    </p>
  )
}
