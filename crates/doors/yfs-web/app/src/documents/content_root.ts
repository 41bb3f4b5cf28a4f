// Which root of a content document is its content (docs/format/content-document.md).

import * as Y from 'yjs'

export type ContentRoot = 'text' | 'richtext'

/** Returns the root that a name implies. */
export function rootOfName(name: string): ContentRoot {
  const dot = name.lastIndexOf('.')
  return dot > 0 && name.slice(dot).toLowerCase() === '.md' ? 'richtext' : 'text'
}

interface Settlement {
  number: number
  client: number
  root: ContentRoot
  /** The document before it, as a snapshot. */
  state: unknown
}

/** Returns the latest settlement; null if there is none. */
function latestSettlement(doc: Y.Doc): Settlement | null {
  let latest: Settlement | null = null
  for (const [key, value] of doc.getMap('fs:conv')) {
    if (!/^\d+$/.test(key) || !Array.isArray(value)) continue
    const [number, root, , state] = value as unknown[]
    if (typeof number !== 'number' || (root !== 'text' && root !== 'richtext')) continue
    const client = Number(key)
    const isLater =
      latest === null ||
      number > latest.number ||
      (number === latest.number && client > latest.client)
    if (isLater) latest = { number, client, root, state }
  }
  return latest
}

/** Returns the clock of a client from which on the latest settlement does not know its items. */
export function settledClock(doc: Y.Doc, client: number): number {
  const state = latestSettlement(doc)?.state
  if (!(state instanceof Uint8Array)) return Infinity
  try {
    return Y.decodeSnapshot(state).sv.get(client) ?? 0
  } catch {
    return Infinity
  }
}

/** Returns the root that the content of a file with this name is in now. */
export function currentRoot(doc: Y.Doc, name: string): ContentRoot {
  const settled = latestSettlement(doc)
  if (settled !== null) return settled.root
  const hasText = doc.getText('text').length > 0
  const hasRichText = doc.getXmlFragment('richtext').length > 0
  if (hasText === hasRichText) return rootOfName(name)
  return hasText ? 'text' : 'richtext'
}
