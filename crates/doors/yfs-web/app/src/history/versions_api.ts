// Versions and authors of a file, over HTTP.

import type { EditorWorkspace } from '../documents'
import { fileUrl } from '../session/file_url'
import { accepted } from '../session/refusal_words'

export interface FileVersion {
  number: number
  at: number
  actor: string | null
  label: string | null
  names: string[]
  redacted: boolean
  current: boolean
}

export interface BlameShare {
  actor: string | null
  at: number | null
  chars: number
}

export interface BlameLine {
  line: number
  text: string
  actor: string | null
  at: number | null
  version: number | null
  shares: BlameShare[]
  /** The parts of the text in their order. */
  parts?: BlamePart[]
}

export interface BlamePart {
  /** The index of the author's share; null if no author is recorded. */
  share: number | null
  chars: number
}

export const under = (route: string, path: string) => fileUrl(path).replace('/api/files', route)

/** Returns the versions of a file, oldest first. */
export async function listVersions(
  workspace: EditorWorkspace,
  path: string,
): Promise<FileVersion[]> {
  const response = await accepted(await workspace.fetch(under('/api/versions', path)))
  return ((await response.json()) as { versions: FileVersion[] }).versions
}

/** Returns the text of a version; null if it is not text. */
export async function readVersion(
  workspace: EditorWorkspace,
  path: string,
  number: number,
): Promise<string | null> {
  const bytes = await readVersionBytes(workspace, path, number)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

export async function readVersionBytes(
  workspace: EditorWorkspace,
  path: string,
  number: number,
): Promise<ArrayBuffer> {
  const response = await accepted(await workspace.fetch(`${fileUrl(path)}?version=${number}`))
  return response.arrayBuffer()
}

export async function readBlame(workspace: EditorWorkspace, path: string): Promise<BlameLine[]> {
  const response = await accepted(await workspace.fetch(`${under('/api/blame', path)}?parts=true`))
  return ((await response.json()) as { lines: BlameLine[] }).lines
}
