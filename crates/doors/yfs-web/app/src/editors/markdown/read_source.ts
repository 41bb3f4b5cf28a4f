import type { EditorWorkspace } from '../../documents'
import { fileUrl } from '../../session/file_url'
import { accepted } from '../../session/refusal_words'

export interface FileSource {
  text: string
  etag: string | null
}

/** Reads the present text of a file from the server; null if it is still the version `known`. */
export async function readSource(
  workspace: EditorWorkspace,
  path: string,
  known: string | null = null,
): Promise<FileSource | null> {
  const init = known === null ? {} : { headers: { 'If-None-Match': known } }
  const response = await workspace.fetch(fileUrl(path), init)
  if (response.status === 304) return null
  const bytes = await (await accepted(response, path)).arrayBuffer()
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  return { text, etag: response.headers.get('ETag') }
}
