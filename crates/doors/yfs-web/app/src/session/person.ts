// The name and the colour under which others see this person.

import { colorOf, printableName } from '../documents/presence'
import type { EditorUser } from '../documents'

const KEY = 'yfs:person'

const personOf = (text: string): EditorUser => {
  const name = printableName(text) || 'guest'
  return { name, color: colorOf(name) }
}

/**
 * Returns the name of the token's actor, which is the author of what is changed here. Without a
 * token it is the name that was chosen in this browser.
 */
export function loadPerson(actor: string | undefined): EditorUser {
  const named = actor?.slice(actor.indexOf(':') + 1)
  return personOf(named || (localStorage.getItem(KEY) ?? 'guest'))
}

export function renamePerson(name: string): EditorUser {
  localStorage.setItem(KEY, name)
  return personOf(name)
}
