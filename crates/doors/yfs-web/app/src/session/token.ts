// The token of the link that opened the application.

export interface TokenClaims {
  rights: 'read' | 'write'
  path: string
  actor: string
}

const KEY = 'yfs:token'
const INSTALLED_KEY = 'yfs:token:installed'

/** Whether this is the window of the installed application. */
const isInstalled = (): boolean => matchMedia('(display-mode: standalone)').matches

/** Takes the token out of the address bar, where it would be seen and shared, and keeps it for the tab. */
export function takeToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) {
    const installed = isInstalled() ? localStorage.getItem(INSTALLED_KEY) : null
    return sessionStorage.getItem(KEY) ?? installed ?? ''
  }
  sessionStorage.setItem(KEY, token)
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

/**
 * Keeps the token for the installed application: it starts in a new window, without the link. A
 * person who installs it asks for that; tabs never keep theirs.
 */
export function keepTokenOfInstalled(token: string): void {
  if (isInstalled()) localStorage.setItem(INSTALLED_KEY, token)
  addEventListener('appinstalled', () => localStorage.setItem(INSTALLED_KEY, token))
}

/** Opens the page with the token of a link, or with a token alone. */
export function openLink(link: string): void {
  const token = /#token=([^&]+)/.exec(link)?.[1] ?? link
  location.hash = `token=${token.trim()}`
  location.reload()
}

/** Reads what a token states. The server checks it; here it only decides what is offered. */
export function claimsOf(token: string): TokenClaims | null {
  const encoded = /^yfs_([\w-]+)\./.exec(token)?.[1]
  if (encoded === undefined) return null
  try {
    const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes)) as TokenClaims
  } catch {
    return null
  }
}
