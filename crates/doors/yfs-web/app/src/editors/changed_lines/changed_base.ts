// What a text is compared with.

import type { EditorWorkspace } from '../../documents'
import { listVersions, readVersion, type FileVersion } from '../../history/versions_api'
import { claimsOf } from '../../session/token'
import type { ChangedBase } from '../../settings/settings'

/** Returns the version that a choice means; undefined if there is none. */
function chosenVersion(
  versions: FileVersion[],
  base: ChangedBase,
  me: string | undefined,
): FileVersion | undefined {
  const readable = versions.filter(({ redacted }) => !redacted)
  if (base === 'version') return readable.findLast(({ current }) => !current)
  return readable.findLast(({ actor }) => actor !== me)
}

/** Reads the text of a base; null if the file has no such version. */
export async function readBase(
  workspace: EditorWorkspace,
  path: string,
  base: ChangedBase,
): Promise<string | null> {
  const versions = await listVersions(workspace, path)
  const version = chosenVersion(versions, base, claimsOf(workspace.token)?.actor)
  return version === undefined ? null : readVersion(workspace, path, version.number)
}
