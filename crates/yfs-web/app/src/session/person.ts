// The name and the colour under which others see this person.

import type { EditorUser } from '../documents'

const KEY = 'yfs:person'
const COLORS = ['#2563b8', '#a2460b', '#2f7d4f', '#7a3e9d', '#b3261e', '#0b6a74', '#86610a']

function colorOf(name: string): string {
  let sum = 0
  for (const char of name) sum = (sum * 31 + char.codePointAt(0)!) >>> 0
  return COLORS[sum % COLORS.length]!
}

/** Returns the name that was chosen in this browser, else that of the token's actor. */
export function loadPerson(actor: string | undefined): EditorUser {
  const name = localStorage.getItem(KEY) ?? actor?.split(':')[1] ?? 'guest'
  return { name, color: colorOf(name) }
}

export function renamePerson(name: string): EditorUser {
  localStorage.setItem(KEY, name)
  return { name, color: colorOf(name) }
}
