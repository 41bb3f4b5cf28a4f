// The name of a person who opened a link that is for no particular one. The server gives a token of
// that name; this browser keeps the name and a secret, which are worth nothing without the link.

import { accepted } from './refusal_words'
import { requestServer, ServerAway } from './server_away'
import { claimsOf, keepToken, type TokenClaims } from './token'

/** The name of the actor of a link that is for no particular person. */
const UNNAMED = 'human:guest'

interface KeptName {
  name: string
  secret: string
}

const keyOf = (claims: TokenClaims) => `yfs:name:${claims.id}`

export const isUnnamed = (claims: TokenClaims | null): claims is TokenClaims =>
  claims !== null && (claims.actor === UNNAMED || claims.actor === 'human:')

function readKept(claims: TokenClaims): KeptName | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(claims)) ?? 'null')
    const { name, secret } = (kept ?? {}) as Partial<KeptName>
    return typeof name === 'string' && typeof secret === 'string' ? { name, secret } : null
  } catch {
    return null
  }
}

function makeSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Takes a name for the holder of a token; returns the token of that name. */
export async function takeName(token: string, name: string): Promise<string> {
  const claims = claimsOf(token)
  const kept = claims === null ? null : readKept(claims)
  const wanted = { name, secret: kept?.name === name ? kept.secret : makeSecret() }
  const response = await requestServer('/api/name', {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(wanted),
  })
  const answer = (await (await accepted(response)).json()) as { token: string }
  try {
    if (isUnnamed(claims)) localStorage.setItem(keyOf(claims), JSON.stringify(wanted))
  } catch {
    // The person is asked again at the next visit.
  }
  return answer.token
}

/**
 * Returns the token of the person's name. Asks for the name at the first opening of a link that is
 * for no particular person.
 */
export async function namedToken(token: string): Promise<string> {
  const claims = claimsOf(token)
  if (!isUnnamed(claims)) return token
  const kept = readKept(claims)
  try {
    let named = kept === null ? null : await takeName(token, kept.name).catch(awayOrNull)
    if (named === null) {
      const { askName } = await import('../people/name_dialog')
      named = await askName((name) => takeName(token, name))
    }
    if (named === null) return token
    keepToken(named)
    return named
  } catch (failure) {
    if (failure instanceof ServerAway) return token
    throw failure
  }
}

/** The name may be gone since: the person chooses again. */
function awayOrNull(failure: unknown): null {
  if (failure instanceof ServerAway) throw failure
  return null
}
