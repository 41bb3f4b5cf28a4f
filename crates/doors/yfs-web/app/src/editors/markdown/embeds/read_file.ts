// The beginning of a file, and its changes, for those that only show it.

import { effect } from '@preact/signals'
import type { EditorWorkspace, FileRow } from '../../../documents'
import { fileUrl } from '../../../session/file_url'
import { accepted } from '../../../session/refusal_words'

/** How long changes of files are collected before one is read again. */
const REFRESH_MS = 400

export interface FilePart {
  blob: Blob
  /** Whether the file goes on. */
  isCut: boolean
}

/** Reads at most so many bytes of a file; null if it is still the version `known`. */
async function readPart(
  workspace: EditorWorkspace,
  path: string,
  maxBytes: number,
  known: string | null,
): Promise<(FilePart & { etag: string | null }) | null> {
  const headers: Record<string, string> = { Range: `bytes=0-${maxBytes - 1}` }
  if (known !== null) headers['If-None-Match'] = known
  const response = await workspace.fetch(fileUrl(path), { headers })
  if (response.status === 304) return null
  const etag = response.headers.get('ETag')
  // A file of no bytes has no first one.
  if (response.status === 416) return { blob: new Blob(), isCut: false, etag }
  const blob = await (await accepted(response, path)).blob()
  const total = Number(/\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1] ?? 0)
  return { blob, isCut: total > blob.size, etag }
}

export interface FileListener {
  onPart: (part: FilePart) => void
  onProblem: (reason: string) => void
}

export interface FollowedFile {
  path: string
  /** The most bytes that are read. */
  maxBytes: number
  /** Returns the row of the file now; null if there is none. */
  row: () => FileRow | null
}

/** Reads the beginning of a file now and after each change of it, until the end is called. */
export function followFile(
  workspace: EditorWorkspace,
  { path, maxBytes, row }: FollowedFile,
  { onPart, onProblem }: FileListener,
): () => void {
  let isGone = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let etag: string | null = null
  let seen: string | null = null
  const read = async () => {
    try {
      const part = await readPart(workspace, path, maxBytes, etag)
      if (isGone || part === null) return
      etag = part.etag
      onPart(part)
    } catch (failure) {
      // What was shown before stays.
      if (!isGone && etag === null) onProblem((failure as Error).message)
    }
  }
  let reading = Promise.resolve()
  const stop = effect(() => {
    void workspace.rows.value
    const state = JSON.stringify(row())
    if (state === seen) return
    const delay = seen === null ? 0 : REFRESH_MS
    seen = state
    timer ??= setTimeout(() => {
      reading = reading.then(() => {
        timer = undefined
        return isGone ? undefined : read()
      })
    }, delay)
  })
  return () => {
    isGone = true
    stop()
    clearTimeout(timer)
  }
}
