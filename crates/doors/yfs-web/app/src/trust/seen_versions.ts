// What this browser showed of each file last: the version, and when.

export interface SeenVersion {
  version: number
  at: number
}

/** How many files are remembered. */
const MAX_FILES = 500

const keyOf = (workspace: string) => `yfs:seen:${workspace}`

function readAll(workspace: string): Record<string, SeenVersion> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(workspace)) ?? '{}')
    return typeof stored === 'object' && stored !== null
      ? (stored as Record<string, SeenVersion>)
      : {}
  } catch {
    return {}
  }
}

export function seenVersion(workspace: string, id: string): SeenVersion | null {
  const seen = readAll(workspace)[id]
  return typeof seen?.version === 'number' && typeof seen.at === 'number' ? seen : null
}

export function rememberSeen(workspace: string, id: string, version: number): void {
  const all = { ...readAll(workspace), [id]: { version, at: Date.now() } }
  const latest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at)
  try {
    localStorage.setItem(
      keyOf(workspace),
      JSON.stringify(Object.fromEntries(latest.slice(0, MAX_FILES))),
    )
  } catch {
    // Without storage nothing is known of the last visit.
  }
}
