import type { EditorWorkspace } from '../../documents'
import { fileUrl } from '../../session/file_url'

export interface FileSource {
  text: string
  etag: string | null
}

/** Reads the present text of a file from the server. */
export async function readSource(workspace: EditorWorkspace, path: string): Promise<FileSource> {
  const response = await workspace.fetch(fileUrl(path))
  if (!response.ok) throw new Error(`the server answered ${response.status}`)
  const bytes = await response.arrayBuffer()
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  return { text, etag: response.headers.get('ETag') }
}
