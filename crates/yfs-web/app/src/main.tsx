// The web editor: opens the workspace of the server that this page comes from.

import { render } from 'preact'
import { Session } from './session/workspace'
import { App } from './shell/app'
import './shell/app.css'
import { applyTheme } from './shell/theme'

applyTheme()
const root = document.getElementById('app')!

try {
  const session = await Session.open()
  render(<App session={session} />, root)
} catch (failure) {
  render(
    <main class="welcome">
      <h1>The workspace cannot be opened</h1>
      <p>{(failure as Error).message}</p>
      <p class="faint">
        Open the link that <code>yfs serve</code> prints: it contains the token.
      </p>
    </main>,
    root,
  )
}
