// What is shown if the workspace cannot be opened.

import { useEffect } from 'preact/hooks'
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
      <h1>The server does not answer</h1>
      <p class="faint">
        This link was not opened in this browser before, so nothing of the workspace is here. The
        page opens by itself when the server is back.
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
      <h1>The workspace cannot be opened</h1>
      <p>{reason}</p>
      <p class="faint">
        Open the link that <code>yfs serve</code> prints, or paste it here: it contains the token.
      </p>
      <form class="entrance" onSubmit={onSubmit}>
        <input name="link" aria-label="Link or token" autocomplete="off" required />
        <button type="submit">Open</button>
      </form>
    </main>
  )
}
