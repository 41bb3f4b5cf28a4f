// The files that this browser opened last, the latest first, by their ids.

const LIMIT = 30

const keyOf = (workspace: string) => `yfs:recent:${workspace}`

/** Returns the ids of the files that were opened last in a workspace. */
export function recentIds(workspace: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(workspace)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((id) => typeof id === 'string') : []
  } catch {
    return []
  }
}

/** Notes that a file was opened. */
export function noteRecent(workspace: string, id: string): void {
  const ids = [id, ...recentIds(workspace).filter((other) => other !== id)].slice(0, LIMIT)
  try {
    localStorage.setItem(keyOf(workspace), JSON.stringify(ids))
  } catch {
    // A browser without storage remembers nothing.
  }
}
