// What opens the application without a server: the workspace that a token opened before, and its
// last listing, which is kept in the database of the main document.

import type { IndexeddbPersistence } from 'y-indexeddb'
import * as Y from 'yjs'
import { openBrowserCopy } from '../documents/browser_copy'
import type { TreeListing } from './workspace'

const LISTING = 'listing'
/** A listing is written at most this often. */
const WRITE_MS = 1000

/**
 * The names of databases contain the workspace: other ones may have been at this address. What a
 * token for a part of it lists has a database of its own.
 */
export const listingDatabase = (workspace: string, path: string): string =>
  path === '/' ? `yfs:${workspace}` : `yfs:${workspace}:part:${path}`

/** Returns the key under which the workspace of a token is kept. The token is not stored. */
async function keyOf(token: string): Promise<string> {
  if (token === '') return 'yfs:workspace:open'
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))
  const hex = [...new Uint8Array(hash, 0, 16)].map((byte) => byte.toString(16).padStart(2, '0'))
  return `yfs:workspace:${hex.join('')}`
}

/** Remembers which workspace a token opens. */
export async function rememberWorkspace(token: string, workspace: string): Promise<void> {
  try {
    localStorage.setItem(await keyOf(token), workspace)
  } catch {
    // Without storage, or without encryption on the way here, nothing opens without the server.
  }
}

export interface KeptWorkspace {
  listing: TreeListing
  main: Y.Doc
  copy: IndexeddbPersistence
}

/** Loads the workspace that a token opened before in this browser; null if there is none. */
export async function loadKeptWorkspace(
  token: string,
  path: string,
): Promise<KeptWorkspace | null> {
  let workspace: string | null = null
  try {
    workspace = localStorage.getItem(await keyOf(token))
  } catch {
    return null
  }
  if (workspace === null) return null
  const main = new Y.Doc({ guid: workspace })
  const copy = await openBrowserCopy(listingDatabase(workspace, path), main)
  const text: unknown = await copy?.get(LISTING)
  if (copy === null || typeof text !== 'string') return null
  return { listing: JSON.parse(text) as TreeListing, main, copy }
}

/** Keeps the last listing of a workspace. */
export class ListingKeeper {
  private copy: IndexeddbPersistence | null = null
  private waiting: string | null = null
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    // The timers of a page that is hidden may never run.
    document.addEventListener('visibilitychange', () => this.write())
  }

  setCopy(copy: IndexeddbPersistence): void {
    this.copy = copy
    this.write()
  }

  keep(text: string): void {
    this.waiting = text
    this.timer ??= setTimeout(() => this.write(), WRITE_MS)
  }

  /** Writes the listing that waits. */
  write(): void {
    if (this.copy === null || this.waiting === null) return
    clearTimeout(this.timer)
    this.timer = undefined
    const text = this.waiting
    this.waiting = null
    this.copy.set(LISTING, text).catch(() => {
      // The storage is full: the listing that was kept before stays.
    })
  }
}
