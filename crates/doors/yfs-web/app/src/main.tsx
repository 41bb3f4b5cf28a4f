// The web editor: opens the workspace of the server that this page comes from.

import { render } from 'preact'
import { loadLanguage } from './language/translate'
import './look/tokens.css'
import './look/controls.css'
import { Session } from './session/workspace'
import { App } from './shell/app'
import './shell/app.css'
import { applyLook } from './settings/settings'

applyLook()
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  // After the page, which the fetches of the worker would delay.
  addEventListener('load', () => void navigator.serviceWorker.register('/sw.js').catch(() => {}))
}
const root = document.getElementById('app')!

try {
  const [session] = await Promise.all([Session.open(), loadLanguage()])
  render(<App session={session} />, root)
} catch (failure) {
  const { Entrance } = await import('./shell/entrance')
  render(<Entrance failure={failure as Error} />, root)
}
