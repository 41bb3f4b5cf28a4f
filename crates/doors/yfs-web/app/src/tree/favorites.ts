// Files and directories that a person wants at hand, kept in this browser for each workspace by
// their ids, so that renames keep them.

import { signal } from '@preact/signals'
import type { Session } from '../session/workspace'

export const favorites = signal<readonly string[]>([])
let loaded = ''

const keyOf = (session: Session) => `yfs:favorites:${session.id}`

export function loadFavorites(session: Session): void {
  if (loaded === session.id) return
  loaded = session.id
  try {
    favorites.value = JSON.parse(localStorage.getItem(keyOf(session)) ?? '[]') as string[]
  } catch {
    favorites.value = []
  }
}

/** Adds ids to the favorites, or removes them. */
export function setFavorites(session: Session, ids: readonly string[], isFavorite: boolean): void {
  const others = favorites.peek().filter((id) => !ids.includes(id))
  favorites.value = isFavorite ? [...others, ...ids] : others
  localStorage.setItem(keyOf(session), JSON.stringify(favorites.peek()))
}
