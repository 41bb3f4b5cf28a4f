// The open documents of a workspace. A document that no editor shows stays open until the server has
// stored its changes, also across reloads of the page.

import { effect, signal, type ReadonlySignal } from '@preact/signals'
import { OpenDocument } from './open_document'
import type { EditorWorkspace } from './types'

interface PooledDocument {
  document: OpenDocument
  users: number
  stop: () => void
}

const storageKey = (workspace: EditorWorkspace) => `yfs:unsaved:${workspace.id}`

export class DocumentPool {
  private readonly open = new Map<string, PooledDocument>()
  private readonly unsavedIds = signal<ReadonlySet<string>>(new Set())

  constructor(private readonly workspace: EditorWorkspace) {
    // A page does not close silently while changes are stored nowhere.
    addEventListener('beforeunload', (event) => {
      const states = [...this.open.values()].map(({ document }) => document.savedState.peek())
      const isAtRisk = states.some((state) => state === 'saving' || state === 'volatile')
      if (isAtRisk) event.preventDefault()
    })
  }

  /** The files with changes that the server has not stored. */
  get unsaved(): ReadonlySignal<ReadonlySet<string>> {
    return this.unsavedIds
  }

  acquire(id: string): OpenDocument {
    const pooled = this.open.get(id) ?? this.add(id)
    pooled.users += 1
    return pooled.document
  }

  release(id: string): void {
    const pooled = this.open.get(id)
    if (pooled === undefined) return
    pooled.users -= 1
    this.closeUnused(id)
  }

  /** Opens the documents whose changes an earlier visit left in this browser. */
  resume(): void {
    for (const id of readIds(this.workspace)) {
      if (!this.open.has(id)) this.add(id)
    }
  }

  private add(id: string): PooledDocument {
    const document = new OpenDocument(this.workspace, id)
    const pooled: PooledDocument = { document, users: 0, stop: () => {} }
    this.open.set(id, pooled)
    pooled.stop = effect(() => {
      const state = document.savedState.value
      const isUnsaved = state === 'saving' || state === 'waiting' || state === 'volatile'
      this.mark(id, isUnsaved || (state === 'refused' && document.isUnsaved))
      if (state === 'saved' || state === 'refused') queueMicrotask(() => this.closeUnused(id))
    })
    return pooled
  }

  private closeUnused(id: string): void {
    const pooled = this.open.get(id)
    if (pooled === undefined || pooled.users > 0 || this.unsavedIds.peek().has(id)) return
    pooled.stop()
    pooled.document.destroy()
    this.open.delete(id)
  }

  private mark(id: string, isUnsaved: boolean): void {
    const ids = this.unsavedIds.peek()
    if (ids.has(id) === isUnsaved) return
    const changed = new Set(ids)
    if (isUnsaved) changed.add(id)
    else changed.delete(id)
    this.unsavedIds.value = changed
    writeIds(this.workspace, changed)
  }
}

function readIds(workspace: EditorWorkspace): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey(workspace)) ?? '[]')
    return Array.isArray(stored) ? stored.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

function writeIds(workspace: EditorWorkspace, ids: ReadonlySet<string>): void {
  try {
    localStorage.setItem(storageKey(workspace), JSON.stringify([...ids]))
  } catch {
    // Without storage there is nothing to resume from either.
  }
}

const pools = new WeakMap<EditorWorkspace, DocumentPool>()

/** Returns the pool of a workspace. */
export function documentPool(workspace: EditorWorkspace): DocumentPool {
  let pool = pools.get(workspace)
  if (pool === undefined) {
    pool = new DocumentPool(workspace)
    pools.set(workspace, pool)
  }
  return pool
}
