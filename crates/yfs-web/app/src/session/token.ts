// The token of the link that opened the application.

export interface TokenClaims {
  rights: 'read' | 'write'
  path: string
  actor: string
}

const KEY = 'yfs:token'

/** Takes the token out of the address bar, where it would be seen and shared, and keeps it for the tab. */
export function takeToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return sessionStorage.getItem(KEY) ?? ''
  sessionStorage.setItem(KEY, token)
  history.replaceState(null, '', location.pathname + location.search)
  return token
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
