// The uploads of this page, two at a time. A person pauses, cancels and retries each of them.

import { computed, signal, type Signal } from '@preact/signals'
import { t } from '../language/translate'
import { ServerAway } from '../session/server_away'
import type { Session } from '../session/workspace'
import { freePath, join } from '../tree/tree_model'
import { setExpanded } from '../tree/tree_state'
import { askAboutNames, showUploads } from './upload_panel'
import { sendFile } from './send_file'

/** A file with its path below the directory of the upload; a directory that is empty has none. */
export interface NamedFile {
  name: string
  file: File | null
}

export type UploadState = 'waiting' | 'sending' | 'away' | 'paused' | 'done' | 'failed'

export interface Upload {
  key: number
  session: Session
  file: File
  path: string
  replaces: boolean
  state: Signal<UploadState>
  sent: Signal<number>
  error: Signal<string | null>
  uploadId: string | null
  abort: AbortController | null
}

/** How many uploads are on their way at once. */
const N_AT_ONCE = 2
/** The waits before a server that is away is tried again, in milliseconds. */
const WAITS = [500, 1000, 2000, 4000, 8000, 15_000]

export const uploads = signal<readonly Upload[]>([])
export const isUploading = computed(() =>
  uploads.value.some(({ state }) => ['waiting', 'sending', 'away'].includes(state.value)),
)
let nextKey = 1
/** Asks a person who leaves while files are on their way. */
const unsaved = (event: BeforeUnloadEvent) => {
  if (isUploading.peek()) event.preventDefault()
}

/** Uploads files into a directory. Asks once what to do with names that are taken. */
export async function uploadAll(
  session: Session,
  directory: string,
  files: readonly NamedFile[],
): Promise<void> {
  if (session.readOnly || files.length === 0) return
  const isTaken = (path: string) => session.idsByPath.peek().has(path)
  const pathOf = ({ name }: NamedFile) => join(directory, name)
  const clashes = files.filter((named) => named.file !== null && isTaken(pathOf(named)))
  const choice =
    clashes.length === 0 ? 'keep' : await askAboutNames(clashes.map(({ name }) => name))
  if (choice === null) return
  if (directory !== '/') setExpanded(directory, true)
  const added: Upload[] = []
  const isUsed = (path: string) => isTaken(path) || added.some((one) => one.path === path)
  for (const named of files) {
    const path = pathOf(named)
    if (named.file === null) {
      await session.call('POST', '/api/mkdir', { path, recursive: true }, path)
    } else if (!isTaken(path)) added.push(makeUpload(session, named.file, path, false))
    else if (choice === 'replace') added.push(makeUpload(session, named.file, path, true))
    else if (choice === 'keep') {
      const free = freePath(isUsed, path, (stem, n) => `${stem} (${n})`)
      added.push(makeUpload(session, named.file, free, false))
    }
  }
  addEventListener('beforeunload', unsaved)
  uploads.value = [...uploads.peek(), ...added]
  showUploads()
  startNext()
  await session.refresh()
}

function makeUpload(session: Session, file: File, path: string, replaces: boolean): Upload {
  return {
    key: nextKey++,
    session,
    file,
    path,
    replaces,
    state: signal<UploadState>('waiting'),
    sent: signal(0),
    error: signal<string | null>(null),
    uploadId: null,
    abort: null,
  }
}

function startNext(): void {
  const busy = uploads.peek().filter(({ state }) => ['sending', 'away'].includes(state.peek()))
  const waiting = uploads.peek().filter(({ state }) => state.peek() === 'waiting')
  for (const upload of waiting.slice(0, Math.max(0, N_AT_ONCE - busy.length))) void run(upload)
}

/** Sends one file to its end; a lost connection is waited for. */
async function run(upload: Upload): Promise<void> {
  const abort = new AbortController()
  upload.abort = abort
  upload.error.value = null
  upload.state.value = 'sending'
  try {
    await sendPatiently(upload, abort.signal)
    upload.sent.value = upload.file.size
    upload.state.value = 'done'
    void upload.session.refresh()
  } catch (failure) {
    if (!abort.signal.aborted) {
      upload.state.value = 'failed'
      upload.error.value = failure instanceof Error ? failure.message : String(failure)
    }
  }
  startNext()
}

async function sendPatiently(upload: Upload, signal: AbortSignal): Promise<void> {
  const { session, file, path, replaces } = upload
  for (let n = 0; ; n++) {
    try {
      return await sendFile({
        session,
        file,
        path,
        replaces,
        uploadId: upload.uploadId,
        signal,
        onBegun: (id) => (upload.uploadId = id),
        onProgress: (sent) => {
          n = 0
          upload.state.value = 'sending'
          upload.sent.value = sent
        },
      })
    } catch (failure) {
      if (!(failure instanceof ServerAway)) throw failure
      upload.state.value = 'away'
      await wait(WAITS[Math.min(n, WAITS.length - 1)]!, signal)
    }
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener('online', done)
      if (signal.aborted) reject(signal.reason as Error)
      else resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
    signal.addEventListener('abort', done)
  })
}

export function pause(upload: Upload): void {
  if (!['waiting', 'sending', 'away'].includes(upload.state.peek())) return
  upload.state.value = 'paused'
  upload.abort?.abort(new Error(t('Paused')))
  startNext()
}

/** Goes on with an upload that is paused, or tries again one that failed. */
export function resume(upload: Upload): void {
  if (!['paused', 'failed'].includes(upload.state.peek())) return
  upload.state.value = 'waiting'
  startNext()
}

/** Ends an upload; the server forgets what it has of it. */
export function cancel(upload: Upload): void {
  upload.abort?.abort(new Error(t('Canceled')))
  uploads.value = uploads.peek().filter((other) => other !== upload)
  if (upload.uploadId !== null && upload.state.peek() !== 'done') {
    const forget = upload.session.fetch(`/api/uploads/${upload.uploadId}`, { method: 'DELETE' })
    // It expires by itself.
    forget.catch(() => {})
  }
  startNext()
}

/** Ends all uploads, and empties the list. */
export function cancelAll(): void {
  for (const upload of uploads.peek()) cancel(upload)
}
