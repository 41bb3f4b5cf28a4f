// The log of the workspace in groups: what one author did to one file in one go is one entry.

export interface LogEntry {
  at: number
  path: string
  id: string
  kind: 'file' | 'directory' | 'symlink'
  change: string
  actor: string | null
  label: string | null
  version: number | null
  from: string | null
}

export interface LogGroup {
  key: string
  /** The times of the latest and of the first change. */
  at: number
  since: number
  path: string
  id: string
  kind: LogEntry['kind']
  change: string
  actor: string | null
  /** The path before a rename or a move. */
  from: string | null
  nChanges: number
  /** The first and the last version that it made. */
  versions: [number, number] | null
}

/** Changes that are further apart are of two sittings. */
const PAUSE_MS = 30 * 60_000
/** How many entries lie at most between two of one group. */
const REACH = 20

const isContent = (change: string) => change === 'edited' || change === 'created'

export const entryKey = ({ id, at, change, version, actor }: LogEntry): string =>
  `${id} ${version ?? at} ${change} ${actor}`

function isOf(group: LogGroup, entry: LogEntry): boolean {
  return (
    group.id === entry.id &&
    group.actor === entry.actor &&
    isContent(group.change) &&
    isContent(entry.change) &&
    group.since - entry.at < PAUSE_MS
  )
}

/** Groups entries, the latest first. */
export function groupEntries(entries: LogEntry[]): LogGroup[] {
  const groups: LogGroup[] = []
  for (const entry of entries) {
    const known = groups.slice(-REACH).findLast((group) => group.id === entry.id)
    if (known !== undefined && isOf(known, entry)) {
      known.nChanges += 1
      known.since = entry.at
      // The first change of a file that was made in this sitting.
      if (entry.change === 'created') known.change = 'created'
      if (entry.version !== null) {
        const [first, last] = known.versions ?? [entry.version, entry.version]
        known.versions = [Math.min(first, entry.version), Math.max(last, entry.version)]
      }
      continue
    }
    const { at, path, id, kind, change, actor, from, version } = entry
    const versions: [number, number] | null = version === null ? null : [version, version]
    const key = entryKey(entry)
    const group = { key, at, since: at, path, id, kind, change, actor, from, nChanges: 1, versions }
    groups.push(group)
  }
  return groups
}
