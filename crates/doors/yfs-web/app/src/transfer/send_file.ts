// One upload on its way. A large file goes in pieces that the browser reads from the disk as it
// sends them; after a lost connection it goes on where the server is.

import { fileUrl } from '../session/file_url'
import { reasonOf } from '../session/refusal_words'
import { ServerAway } from '../session/server_away'
import type { Session } from '../session/workspace'

/** Shorter files are sent by one request. */
const MAX_WHOLE = 1 << 20
/** The length of a piece. */
const PIECE = 8 << 20

/** The server refused; trying again does not help by itself. */
export class UploadRefused extends Error {
  override readonly name = 'UploadRefused'
}

export interface SendOptions {
  session: Session
  file: File
  path: string
  replaces: boolean
  /** The upload that was begun before, if any. */
  uploadId: string | null
  signal: AbortSignal
  onBegun: (uploadId: string | null) => void
  onProgress: (sent: number) => void
}

async function checked(answer: Response, path: string): Promise<Response> {
  if (answer.ok) return answer
  // A server that has too much to do is asked again.
  if (answer.status === 503) throw new ServerAway()
  throw new UploadRefused(await reasonOf(answer, path))
}

const json = (method: string, body: unknown, signal: AbortSignal): RequestInit => ({
  method,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
  signal,
})

/** Sends a file until the server has it. Rejects with `ServerAway` if the connection is lost. */
export async function sendFile(options: SendOptions): Promise<void> {
  const { session, file, path, replaces, signal, onProgress } = options
  if (file.size <= MAX_WHOLE) {
    const headers: Record<string, string> = replaces ? {} : { 'If-None-Match': '*' }
    const init = { method: 'PUT', headers, body: file, signal }
    const answer = await session.fetch(fileUrl(path), init)
    await checked(answer, path)
    return onProgress(file.size)
  }
  const id = await beginUpload(options)
  let offset = await askOffset(options, id)
  while (offset < file.size) {
    const piece = file.slice(offset, offset + PIECE)
    const at = offset
    await sendPiece(options, id, piece, at, (sent) => onProgress(at + sent))
    offset += piece.size
    onProgress(offset)
  }
  const body = { path, replace: replaces }
  const answer = await session.fetch(`/api/uploads/${id}`, json('POST', body, signal))
  await checked(answer, path)
}

async function beginUpload(options: SendOptions): Promise<string> {
  const { session, file, path, uploadId, signal, onBegun } = options
  if (uploadId !== null) {
    const known = await session.fetch(`/api/uploads/${uploadId}`, { signal })
    if (known.ok) return uploadId
  }
  const body = { path, size: file.size }
  const answer = await session.fetch('/api/uploads', json('POST', body, signal))
  const { id } = (await (await checked(answer, path)).json()) as { id: string }
  onBegun(id)
  return id
}

async function askOffset(options: SendOptions, id: string): Promise<number> {
  const { session, path, signal } = options
  const answer = await checked(await session.fetch(`/api/uploads/${id}`, { signal }), path)
  return ((await answer.json()) as { offset: number }).offset
}

/** Sends a piece. `fetch` says nothing of its progress, so this is the older interface. */
function sendPiece(
  { session, path, signal }: SendOptions,
  id: string,
  piece: Blob,
  offset: number,
  onProgress: (sent: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PATCH', `/api/uploads/${id}`)
    if (session.token !== '') request.setRequestHeader('Authorization', `Bearer ${session.token}`)
    request.setRequestHeader('Upload-Offset', String(offset))
    request.setRequestHeader('Content-Type', 'application/octet-stream')
    const abort = () => request.abort()
    signal.addEventListener('abort', abort)
    request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded))
    request.addEventListener('loadend', () => {
      signal.removeEventListener('abort', abort)
      const { status } = request
      if (signal.aborted) reject(signal.reason as Error)
      else if (status === 204) resolve()
      // An offset that does not fit is asked for again, and so is an upload that is gone.
      else if ([0, 404, 408, 409, 502, 503, 504].includes(status)) reject(new ServerAway())
      else
        reasonOf(new Response(request.responseText, { status }), path).then(
          (reason) => reject(new UploadRefused(reason)),
          reject,
        )
    })
    request.send(piece)
  })
}
