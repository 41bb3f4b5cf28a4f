// Back to an earlier version: what of others that takes back, and the way back from it.

import { mergeFile } from '../session/merge_file'
import { accepted } from '../session/refusal_words'
import type { EditorWorkspace } from '../documents'
import { fileUrl } from '../session/file_url'
import { claimsOf } from '../session/token'
import type { ChangeCounter } from './change_counts'
import { readVersionBytes, type FileVersion } from './versions_api'

/** The changes of one author that a restore takes back. */
export interface TakenBack {
  actor: string | null
  isMine: boolean
  /** The number of changed lines; null if it is not known. */
  lines: number | null
}

/** Versions whose changes are counted. */
const MAX_COUNTED = 100

/** Returns whose changes came after a version, those with most lines first. */
export async function changesSince(
  workspace: EditorWorkspace,
  counter: ChangeCounter,
  versions: FileVersion[],
  version: FileVersion,
): Promise<TakenBack[]> {
  const me = claimsOf(workspace.token)?.actor
  const later = versions.filter(({ number }) => number > version.number)
  const byActor = new Map<string | null, TakenBack>()
  const isCounted = later.length <= MAX_COUNTED
  for (const each of later) {
    const before = versions[versions.indexOf(each) - 1] ?? null
    const counts = isCounted ? await counter.count(each, before) : null
    const known = byActor.get(each.actor)
    const taken = known ?? { actor: each.actor, isMine: each.actor === me, lines: 0 }
    const lines = counts === null ? null : Math.max(counts.added, counts.removed)
    taken.lines = taken.lines === null || lines === null ? null : taken.lines + lines
    byActor.set(each.actor, taken)
  }
  return [...byActor.values()].sort((a, b) => (b.lines ?? 0) - (a.lines ?? 0))
}

async function merge(
  workspace: EditorWorkspace,
  path: string,
  etag: string | null,
  body: ArrayBuffer,
): Promise<string | null> {
  const written = await accepted(await mergeFile(workspace, path, body, etag))
  return written.headers.get('ETag')
}

/**
 * Writes the content of a version as the present one, as the least edit. Returns the way back,
 * which keeps what others change from now on.
 */
export async function restoreVersion(
  workspace: EditorWorkspace,
  path: string,
  number: number,
): Promise<() => Promise<void>> {
  const body = await readVersionBytes(workspace, path, number)
  const present = await accepted(await workspace.fetch(fileUrl(path)))
  const before = await present.arrayBuffer()
  const etag = await merge(workspace, path, present.headers.get('ETag'), body)
  return async () => void (await merge(workspace, path, etag, before))
}
