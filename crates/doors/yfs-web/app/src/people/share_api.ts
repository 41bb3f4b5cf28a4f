// Links for others, over HTTP.

import type { Session } from '../session/workspace'

export interface SharedLink {
  id: string
  token?: string
  path: string
  rights: 'read' | 'write'
  actor: string
  expires?: number
  made?: number
  by?: string
  used?: number
}

export interface LinkRequest {
  path: string
  rights: 'read' | 'write'
  expires: number | null
  name: string
}

export async function listLinks(session: Session): Promise<SharedLink[]> {
  const response = await session.call('GET', '/api/tokens')
  return ((await response.json()) as { tokens: SharedLink[] }).tokens
}

export async function makeLink(session: Session, link: LinkRequest): Promise<SharedLink> {
  return (await (await session.call('POST', '/api/tokens', link)).json()) as SharedLink
}

export async function revokeLink(session: Session, id: string): Promise<void> {
  await session.call('DELETE', `/api/tokens/${encodeURIComponent(id)}`)
}

/** Returns the address that opens the page with a token. Its fragment is sent to no server. */
export const addressOf = (token: string): string =>
  `${location.origin}${location.pathname}#token=${token}`
