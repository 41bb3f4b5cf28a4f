// The address of a file, for a colleague: its path for a person, its id for renames.

import type { Session } from '../session/workspace'

export function linkTo(session: Session, id: string): string {
  const path = session.pathsById.peek().get(id) ?? ''
  return `${location.origin}/#${encodeURI(path)}?id=${id}`
}
