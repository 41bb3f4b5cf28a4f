// Writes a file by a merge: what others wrote since the version that was read stays.

import type { EditorWorkspace } from '../documents'
import { fileUrl } from './file_url'

/** Sends a text that is based on the version of an entity tag. The answer may be a refusal. */
export function mergeFile(
  workspace: Pick<EditorWorkspace, 'fetch'>,
  path: string,
  text: string | ArrayBuffer,
  etag: string | null,
): Promise<Response> {
  return workspace.fetch(`${fileUrl(path)}?conflict=merge`, {
    method: 'PUT',
    headers: etag === null ? {} : { 'If-Match': etag },
    body: text,
  })
}
