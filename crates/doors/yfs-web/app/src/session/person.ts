// The name and the colour under which others see this person.

import { colorOf, printableName } from '../documents/presence'
import type { EditorUser } from '../documents'

const KEY = 'yfs:person'

const personOf = (text: string): EditorUser => {
  const name = printableName(text) || 'guest'
  return { name, color: colorOf(name) }
}

/** Returns the name that was chosen in this browser, else that of the token's actor. */
export function loadPerson(actor: string | undefined): EditorUser {
  return personOf(localStorage.getItem(KEY) ?? actor?.split(':')[1] ?? 'guest')
}

export function renamePerson(name: string): EditorUser {
  localStorage.setItem(KEY, name)
  return personOf(name)
}
