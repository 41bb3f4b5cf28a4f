// What is shown if the workspace cannot be opened.

import { useEffect } from 'preact/hooks'
import { t } from '../language/translate'
import { ServerAway } from '../session/server_away'
import { openLink } from '../session/token'

/** How often a server that is away is asked again. */
const RETRY_MS = 3000

export function Entrance({ failure }: { failure: Error }) {
  return failure instanceof ServerAway ? <Away /> : <Refused reason={failure.message} />
}

function Away() {
  useEffect(() => {
    const retry = async () => {
      const { ok } = await fetch('/healthz')
      if (ok) location.reload()
    }
    const timer = setInterval(() => void retry().catch(() => {}), RETRY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <main class="welcome">
      <h1>{t('The server does not answer')}</h1>
      <p class="faint">
        {t(
          'This link was not opened in this browser before, so nothing of the workspace is here. The page opens by itself when the server is back.',
        )}
      </p>
    </main>
  )
}

function Refused({ reason }: { reason: string }) {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    openLink(String(form.get('link')))
  }
  return (
    <main class="welcome">
      <h1>{t('The workspace cannot be opened')}</h1>
      <p>{reason}</p>
      <p class="faint">
        {t('Open the link that you were given, or that this command prints, or paste it here:')}{' '}
        <code>yfs serve</code>
      </p>
      <form class="entrance" onSubmit={onSubmit}>
        <input
          class="field"
          name="link"
          aria-label={t('Link or token')}
          autocomplete="off"
          required
        />
        <button type="submit" class="primary">
          {t('Open')}
        </button>
      </form>
    </main>
  )
}
