// Addresses of files: `#/notes/plan.md?id=GUID&line=12` or `&heading=setup`. The id survives
// renames; the path is for people, and for a link that has no id. `#/` is the start page.

import type { Session } from './workspace'

/** A place in a file. */
export interface FilePlace {
  /** The line, from 1. */
  line?: number
  /** The slug of a heading. */
  heading?: string
}

export interface FileAddress extends FilePlace {
  path: string
  id: string | null
}

/** Reads an address; null if it names no file, as the empty one. */
export function parseAddress(hash: string): FileAddress | null {
  const [written = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  if (!written.startsWith('/')) return null
  let path = written
  try {
    path = decodeURIComponent(written)
  } catch {
    // It is not written by this page: the path is as it stands.
  }
  const values = new URLSearchParams(query)
  const line = Number(values.get('line'))
  const heading = values.get('heading')
  return {
    path,
    id: values.get('id'),
    ...(Number.isSafeInteger(line) && line > 0 && { line }),
    ...(heading !== null && heading !== '' && { heading }),
  }
}

/** Writes the address of a file, to go behind the `#`. */
export function addressOf(path: string, id: string, place: FilePlace = {}): string {
  const values = new URLSearchParams({ id })
  if (place.line !== undefined) values.set('line', String(place.line))
  if (place.heading !== undefined) values.set('heading', place.heading)
  const written = path.split('/').map(encodeURIComponent).join('/')
  return `#${written}?${values}`
}

/** Returns the link of a file, for a colleague who has a login of their own. */
export function linkTo(session: Session, id: string, place: FilePlace = {}): string {
  const path = session.pathOf(id) ?? '/'
  return `${location.origin}${location.pathname}${addressOf(path, id, place)}`
}

/** Returns the id of the file that an address names, by its id or else by its path. */
export function idAt(session: Session, address: FileAddress): string | null {
  const { id, path } = address
  if (id !== null && session.pathsById.peek().has(id)) return id
  return session.idsByPath.peek().get(path) ?? null
}
