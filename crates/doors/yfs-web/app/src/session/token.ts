// The token of the link that opened the application.

export interface TokenClaims {
  id: string
  rights: 'read' | 'write'
  path: string
  actor: string
}

const KEY = 'yfs:token'
const INSTALLED_KEY = 'yfs:token:installed'
const CHANNEL = 'yfs:token'
/** How long a new tab waits for the others of this browser. */
const HAND_OVER_MS = 400

/** Whether this is the window of the installed application. */
const isInstalled = (): boolean => matchMedia('(display-mode: standalone)').matches

/**
 * Takes the token out of the address bar, where it would be seen and shared, and keeps it for the
 * tab. A new tab gets it from another tab of this browser.
 */
export async function takeToken(): Promise<string> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) {
    const installed = isInstalled() ? localStorage.getItem(INSTALLED_KEY) : null
    const kept = sessionStorage.getItem(KEY) ?? installed
    if (kept !== null) return kept
    // An open server needs none.
    const handed = await Promise.race([askOtherTabs(), isOpenServer()])
    if (handed !== '') keepToken(handed)
    return handed
  }
  keepToken(token)
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Keeps the token for this tab. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token)
}

/** Waits until the server answers without a token; returns the empty one. */
async function isOpenServer(): Promise<string> {
  const isOpen = await fetch('/api/stat/').then(
    ({ ok }) => ok,
    () => false,
  )
  return isOpen ? '' : new Promise<string>(() => {})
}

interface TabMessage {
  /** What is asked for or handed: `ask` has the number of the question. */
  kind: 'ask' | 'hand'
  question: string
  token?: string
  /** When the tab had the focus last. */
  at?: number
}

/**
 * Asks the other tabs of this browser for their token; the one that had the focus last decides.
 * What is sent stays in this browser, among pages of this address.
 */
async function askOtherTabs(): Promise<string> {
  if (typeof BroadcastChannel === 'undefined') return ''
  const channel = new BroadcastChannel(CHANNEL)
  const question = String(crypto.getRandomValues(new Uint32Array(2)))
  let best: TabMessage | null = null
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind !== 'hand' || data.question !== question) return
    if (best === null || (data.at ?? 0) > (best.at ?? 0)) best = data
  }
  channel.postMessage({ kind: 'ask', question } satisfies TabMessage)
  const deadline = performance.now() + HAND_OVER_MS
  // Answers of other tabs come together: a moment after the first, all are here.
  while (performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (best !== null) break
  }
  channel.close()
  return (best as TabMessage | null)?.token ?? ''
}

/** Hands the token to tabs that are opened in this browser. */
export function handToken(token: string): void {
  if (typeof BroadcastChannel === 'undefined' || token === '') return
  let focused = document.hasFocus() ? Date.now() : 0
  addEventListener('focus', () => (focused = Date.now()))
  addEventListener('blur', () => (focused = Date.now()))
  const channel = new BroadcastChannel(CHANNEL)
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    if (data.kind !== 'ask') return
    const at = document.hasFocus() ? Date.now() : focused
    const { question } = data
    channel.postMessage({ kind: 'hand', question, token, at } satisfies TabMessage)
  }
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
