// The rows of the tree that are visible: those whose directories are all expanded.

import type { TreeEntry } from '../session/workspace'

export interface TreeRow {
  entry: TreeEntry
  name: string
  depth: number
  isExpanded: boolean
}

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

/** Directories come first, then names as a person counts. */
function compare(a: TreeEntry, b: TreeEntry): number {
  const kinds = Number(b.kind === 'directory') - Number(a.kind === 'directory')
  return kinds || collator.compare(a.path, b.path) || (a.path < b.path ? -1 : 1)
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

/** Lists the visible rows below a directory in their order. Only expanded ones are sorted. */
export function visibleRows(
  children: Map<string, TreeEntry[]>,
  expanded: ReadonlySet<string>,
  top = '/',
): TreeRow[] {
  const rows: TreeRow[] = []
  const visit = (directory: string, depth: number) => {
    for (const entry of (children.get(directory) ?? []).toSorted(compare)) {
      const isExpanded = entry.kind === 'directory' && expanded.has(entry.path)
      rows.push({ entry, name: nameOf(entry.path), depth, isExpanded })
      if (isExpanded) visit(entry.path, depth + 1)
    }
  }
  visit(top, 0)
  return rows
}

/** Returns all directories above a path. */
export function ancestorsOf(path: string): string[] {
  const found: string[] = []
  for (let parent = parentOf(path); parent !== '/'; parent = parentOf(parent)) found.push(parent)
  return found
}

/** Whether a name was shown with a number because two files have it (docs/tree.md). */
export function isNumbered(row: TreeRow, stored: string | undefined): boolean {
  return stored !== undefined && stored !== row.name
}
