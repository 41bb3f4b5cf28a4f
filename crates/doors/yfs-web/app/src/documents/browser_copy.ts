// The copy of a document that this browser keeps.

import { IndexeddbPersistence } from 'y-indexeddb'
import type * as Y from 'yjs'

/**
 * Loads a document from its database, which then stores its updates. Returns null if this browser
 * stores nothing, as in some private windows.
 */
export async function openBrowserCopy(
  name: string,
  doc: Y.Doc,
): Promise<IndexeddbPersistence | null> {
  try {
    const copy = new IndexeddbPersistence(name, doc)
    // A database that cannot be opened rejects this promise; `whenSynced` would stay pending.
    await copy._db
    await copy.whenSynced
    return copy
  } catch {
    return null
  }
}
