// The rows of the tree that are visible: those whose directories are all expanded.

import type { TreeEntry } from '../session/workspace'

export interface TreeRow {
  entry: TreeEntry
  name: string
  depth: number
  isExpanded: boolean
  /** The row in which the name of a new node is typed. */
  isDraft: boolean
}

export type SortKey = 'name' | 'change' | 'size'

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function join(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

const byName = (a: TreeEntry, b: TreeEntry) =>
  collator.compare(a.path, b.path) || (a.path < b.path ? -1 : 1)

/** The last change and the greatest size come first. */
const ORDERS: Record<SortKey, (a: TreeEntry, b: TreeEntry) => number> = {
  name: byName,
  change: (a, b) => b.mtime - a.mtime || byName(a, b),
  size: (a, b) => b.size - a.size || byName(a, b),
}

export function childrenByPath(entries: readonly TreeEntry[]): Map<string, TreeEntry[]> {
  const children = new Map<string, TreeEntry[]>()
  for (const entry of entries) {
    if (entry.path === '/') continue
    const parent = parentOf(entry.path)
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [entry])
    else siblings.push(entry)
  }
  return children
}

export interface RowOptions {
  /** The directory whose entries are shown: the one that the link opens. */
  top: string
  expanded: ReadonlySet<string>
  sort: SortKey
  /** Where the name of a new node is typed. */
  draft: { directory: string; kind: 'file' | 'directory' } | null
  /** Whether all directories are open, as those that have what a filter found. */
  isFiltered: boolean
}

/** Lists the visible rows in their order. Only expanded directories are sorted. */
export function visibleRows(children: Map<string, TreeEntry[]>, options: RowOptions): TreeRow[] {
  const rows: TreeRow[] = []
  const order = ORDERS[options.sort]
  // Directories come first.
  const compare = (a: TreeEntry, b: TreeEntry) =>
    Number(b.kind === 'directory') - Number(a.kind === 'directory') || order(a, b)
  const visit = (directory: string, depth: number) => {
    if (options.draft?.directory === directory) rows.push(draftRow(options.draft, depth))
    for (const entry of (children.get(directory) ?? []).toSorted(compare)) {
      const isOpen = options.isFiltered || options.expanded.has(entry.path)
      const isExpanded = entry.kind === 'directory' && isOpen
      rows.push({ entry, name: nameOf(entry.path), depth, isExpanded, isDraft: false })
      if (isExpanded) visit(entry.path, depth + 1)
    }
  }
  visit(options.top, 0)
  return rows
}

function draftRow(draft: NonNullable<RowOptions['draft']>, depth: number): TreeRow {
  const path = join(draft.directory, '')
  const entry: TreeEntry = { path, guid: '', kind: draft.kind, size: 0, mtime: 0 }
  return { entry, name: '', depth, isExpanded: false, isDraft: true }
}

/** Returns the entries whose names have a text, with the directories above them. */
export function filterEntries(entries: readonly TreeEntry[], text: string): readonly TreeEntry[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return entries
  const kept = new Set<string>()
  for (const { path } of entries) {
    if (!nameOf(path).toLowerCase().includes(wanted)) continue
    kept.add(path)
    for (const above of ancestorsOf(path)) kept.add(above)
  }
  return entries.filter(({ path }) => kept.has(path))
}

/** Returns all directories above a path. */
export function ancestorsOf(path: string): string[] {
  const found: string[] = []
  for (let parent = parentOf(path); parent !== '/'; parent = parentOf(parent)) found.push(parent)
  return found
}

/** Returns the paths that are not inside of another one of them. */
export function topOf(paths: Iterable<string>): string[] {
  const all = new Set(paths)
  return [...all].filter((path) => !ancestorsOf(path).some((above) => all.has(above)))
}

/** Whether a name was shown with a number because two files have it (docs/tree.md). */
export function isNumbered(row: TreeRow, stored: string | undefined): boolean {
  return stored !== undefined && stored !== row.name
}

/** Returns a path that is free: `notes copy.md`, `notes copy 2.md`. */
export function freePath(
  isTaken: (path: string) => boolean,
  path: string,
  label: (stem: string, n: number) => string,
): string {
  const [directory, name] = [parentOf(path), nameOf(path)]
  const dot = name.lastIndexOf('.')
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  for (let n = 1; ; n++) {
    const free = join(directory, `${label(stem, n)}${extension}`)
    if (!isTaken(free)) return free
  }
}
