// A page that shows one file of a server, for tests of the editors without the rest of the
// application: `?server=http://127.0.0.1:4680&token=..&path=/a.md&name=Ana`.

import { effect } from '@preact/signals'
import '../src/look/tokens.css'
import '../src/look/controls.css'
import { documentPool, type OpenDocument } from '../src/documents'
import { openEditor, type EditorHandle } from '../src/editors'
import { playRandomText } from './random_texts'
import { connect, type HarnessWorkspace } from './workspace'

export interface Harness {
  workspace: HarnessWorkspace
  handle: EditorHandle | null
  open(path: string, at?: { line: number; column?: number }): string
  acquire(id: string): OpenDocument
  release(id: string): void
  playRandomText(seed: number): string | null
}

declare global {
  interface Window {
    harness: Harness
  }
}

const query = new URLSearchParams(location.search)
const workspace = await connect(query)
const container = document.getElementById('app')!

function open(path: string, at?: { line: number; column?: number }): string {
  const id = workspace.idOf(path)
  if (id === null) throw new Error(`no file ${path}`)
  window.harness.handle?.destroy()
  window.harness.handle = openEditor({ id, path, workspace, container, ...(at && { at }) })
  return id
}

const pool = documentPool(workspace)
pool.resume()
window.harness = {
  workspace,
  handle: null,
  open,
  acquire: (id) => pool.acquire(id),
  release: (id) => pool.release(id),
  playRandomText,
}
const path = query.get('path')
if (path !== null) {
  const stop = effect(() => {
    if (workspace.rows.value.size === 0 || workspace.idOf(path) === null) return
    queueMicrotask(() => {
      stop()
      if (window.harness.handle === null) open(path)
    })
  })
}
