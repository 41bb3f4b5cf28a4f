// The source of a markdown file as a text that is edited here and merged by the server.
//
// The live form of a markdown file is a tree. Its source exists at the server, which merges what is
// written by least edits against the version that `If-Match` names. Here are two Yjs documents of
// their own: `base` has the text that the server had at a version, and `mine` has in addition what
// was typed since. What the server changed is written to `base` and merged into `mine` as the
// change of another writer, so that what is typed meanwhile, carets and undo stay.
//
// # Invariants
// - `mine` contains all of `base`. One request is on its way at a time.
// - What is not known to be stored is kept in the storage of this browser.

import { diff } from '@codemirror/merge'
import { signal, type ReadonlySignal } from '@preact/signals'
import * as Y from 'yjs'
import type { EditorWorkspace, SavedState } from '../../documents'
import { mergeFile } from '../../session/merge_file'
import { reasonOf } from '../../session/refusal_words'
import { forgetSource, keepSource, keptSource } from './kept_sources'
import { readSource, type FileSource } from './read_source'

/** How long typing pauses before it is sent, and how long changes of others are collected. */
const PAUSE_MS = 300
/** How long until a server that failed is asked again. */
const RETRY_MS = 2000
/** The origin of what the server changed. */
export const FROM_SERVER = Symbol('the server')

/** Bounds the work for texts that have little in common. */
const DIFF_OPTIONS = { scanLimit: 1000 }

const isHigh = (text: string, at: number) => /[\ud800-\udbff]/.test(text[at] ?? '')

/** Writes the change between two texts to a shared text that has the first one. */
function writeChange(text: Y.Text, from: string, to: string): void {
  for (const change of diff(from, to, DIFF_OPTIONS).toReversed()) {
    let { fromA, toA, fromB, toB } = change
    // Both halves of a pair of surrogates are written together.
    if (isHigh(from, fromA - 1)) [fromA, fromB] = [fromA - 1, fromB - 1]
    if (isHigh(from, toA - 1) || isHigh(to, toB - 1)) [toA, toB] = [toA + 1, toB + 1]
    if (toA > fromA) text.delete(fromA, toA - fromA)
    if (toB > fromB) text.insert(fromA, to.slice(fromB, toB))
  }
}

/** Returns how many characters differ between two texts. */
function distance(from: string, to: string): number {
  const changes = diff(from, to, DIFF_OPTIONS)
  const sizes = changes.map(({ fromA, toA, fromB, toB }) => toA - fromA + toB - fromB)
  return sizes.reduce((sum, size) => sum + size, 0)
}

class RefusedWrite extends Error {}

export interface SourceSyncOptions {
  workspace: EditorWorkspace
  id: string
  path: () => string
}

export class SourceSync {
  /** What the person edits. */
  readonly text: Y.Text
  readonly state: ReadonlySignal<SavedState>
  /** Why the server refused what was written; it stays in this browser until it is accepted. */
  readonly refusal = signal<string | null>(null)
  private readonly mine = new Y.Doc()
  private readonly base = new Y.Doc()
  private readonly saved = signal<SavedState>('loading')
  private etag: string | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private running: Promise<void> | null = null
  private wantsAgain = false
  private isClosed = false
  /** A write that no answer came for: the server may have it or not. */
  private doubtful: { text: string; update: Uint8Array } | null = null

  constructor(private readonly options: SourceSyncOptions) {
    this.text = this.mine.getText('text')
    this.state = this.saved
    this.mine.on('update', (_update: Uint8Array, origin: unknown) => {
      if (origin === FROM_SERVER) return
      this.saved.value = 'saving'
      this.schedule(PAUSE_MS)
    })
  }

  /** Loads the text, with what an earlier visit could not send. */
  async load(): Promise<void> {
    const { workspace, id, path } = this.options
    const kept = keptSource(workspace.id, id)
    const source = kept?.base ?? (await readSource(workspace, path()))!
    this.setBase(source)
    if (kept === null) {
      this.saved.value = 'saved'
      return
    }
    this.doubtful = { text: kept.text, update: new Uint8Array() }
    this.mine.transact(() => writeChange(this.text, source.text, kept.text), 'kept')
    this.doubtful.update = Y.encodeStateAsUpdate(this.mine)
  }

  /** Reads what others changed, after a pause. */
  pull(): void {
    this.schedule(PAUSE_MS)
  }

  /** Sends what is not sent, now. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.running !== null) this.wantsAgain = true
    else {
      this.running = this.exchange().finally(() => {
        this.running = null
        if (this.wantsAgain) void this.flush()
        else this.end()
      })
    }
    return this.running
  }

  /** Ends when all is sent; until then it goes on without an editor. */
  close(): void {
    this.isClosed = true
    void this.flush()
  }

  private get isSent(): boolean {
    return this.text.toString() === this.base.getText('text').toString()
  }

  private end(): void {
    if (!this.isClosed || !this.isSent) return
    clearTimeout(this.timer)
    this.mine.destroy()
    this.base.destroy()
  }

  private schedule(wait: number): void {
    this.timer ??= setTimeout(() => void this.flush(), wait)
  }

  private keep(): void {
    const { workspace, id } = this.options
    const base = { text: this.base.getText('text').toString(), etag: this.etag }
    keepSource(workspace.id, id, { base, text: this.text.toString() })
  }

  private setBase({ text, etag }: FileSource): void {
    this.base.getText('text').insert(0, text)
    this.etag = etag
    Y.applyUpdate(this.mine, Y.encodeStateAsUpdate(this.base), FROM_SERVER)
  }

  /** Takes over what the server has now. */
  private takeOver({ text, etag }: FileSource): void {
    const base = this.base.getText('text')
    const before = base.toString()
    this.base.transact(() => writeChange(base, before, text))
    this.etag = etag
    const known = Y.encodeStateVector(this.mine)
    Y.applyUpdate(this.mine, Y.encodeStateAsUpdate(this.base, known), FROM_SERVER)
  }

  private async exchange(): Promise<void> {
    this.wantsAgain = false
    const { workspace, id, path } = this.options
    if (!this.isSent) this.keep()
    try {
      const read = await readSource(workspace, path(), this.doubtful === null ? this.etag : null)
      this.settleDoubt(read)
      if (read !== null) this.takeOver(read)
      if (!this.isSent && !workspace.readOnly) await this.send()
      this.refusal.value = null
      if (this.isSent) {
        this.saved.value = 'saved'
        forgetSource(workspace.id, id)
      } else {
        this.keep()
        this.schedule(PAUSE_MS)
      }
    } catch (failure) {
      if (failure instanceof RefusedWrite) this.refusal.value = failure.message
      if (this.isSent) return
      this.saved.value = failure instanceof RefusedWrite ? 'refused' : 'waiting'
      this.schedule(RETRY_MS)
    }
  }

  /** Decides whether a write without an answer is in what the server has: then less differs. */
  private settleDoubt(read: FileSource | null): void {
    if (this.doubtful === null || read === null) return
    const { text, update } = this.doubtful
    const before = this.base.getText('text').toString()
    if (distance(text, read.text) < distance(before, read.text)) Y.applyUpdate(this.base, update)
    this.doubtful = null
  }

  private async send(): Promise<void> {
    const { workspace, path } = this.options
    const text = this.text.toString()
    const update = Y.encodeStateAsUpdate(this.mine)
    this.doubtful = { text, update }
    const response = await mergeFile(workspace, path(), text, this.etag)
    if (response.status >= 500) throw new Error(`status ${response.status}`)
    this.doubtful = null
    if (!response.ok) throw new RefusedWrite(await reasonOf(response, path()))
    Y.applyUpdate(this.base, update)
    const etag = response.headers.get('ETag')
    // Without one the server merged: what it has is read, and differs from what was sent.
    this.etag = etag
    if (etag !== null) return
    this.doubtful = { text, update }
    const merged = (await readSource(workspace, path()))!
    this.doubtful = null
    this.takeOver(merged)
  }
}
