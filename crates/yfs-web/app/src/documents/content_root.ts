// Which root of a content document is its content (docs/format/content-document.md).

import type * as Y from 'yjs'

export type ContentRoot = 'text' | 'richtext'

/** Returns the root that a name implies. */
export function rootOfName(name: string): ContentRoot {
  const dot = name.lastIndexOf('.')
  return dot > 0 && name.slice(dot).toLowerCase() === '.md' ? 'richtext' : 'text'
}

/** Returns the root of the latest settlement; null if there is none. */
function settledRoot(doc: Y.Doc): ContentRoot | null {
  let latest: { number: number; client: number; root: ContentRoot } | null = null
  for (const [key, value] of doc.getMap('fs:conv')) {
    if (!/^\d+$/.test(key) || !Array.isArray(value)) continue
    const [number, root] = value as unknown[]
    if (typeof number !== 'number' || (root !== 'text' && root !== 'richtext')) continue
    const client = Number(key)
    const isLater =
      latest === null ||
      number > latest.number ||
      (number === latest.number && client > latest.client)
    if (isLater) latest = { number, client, root }
  }
  return latest?.root ?? null
}

/** Returns the root that the content of a file with this name is in now. */
export function currentRoot(doc: Y.Doc, name: string): ContentRoot {
  const settled = settledRoot(doc)
  if (settled !== null) return settled
  const hasText = doc.getText('text').length > 0
  const hasRichText = doc.getXmlFragment('richtext').length > 0
  if (hasText === hasRichText) return rootOfName(name)
  return hasText ? 'text' : 'richtext'
}
