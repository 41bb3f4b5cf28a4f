// What the tree shows: which directories are expanded, what is selected, how it is sorted.

import { signal } from '@preact/signals'
import { ancestorsOf, type SortKey } from './tree_model'

/** A name that is being typed: for a new node, or for an existing one. */
export interface Draft {
  directory: string
  kind: 'file' | 'directory'
  renames: string | null
  /** What had the focus before. */
  before: Element | null
}

/** Nodes that were cut or copied, to be pasted. */
export interface TakenNodes {
  paths: string[]
  isCut: boolean
}

const SORT = 'yfs:tree-sort'

export const expanded = signal<ReadonlySet<string>>(new Set())
export const selected = signal<ReadonlySet<string>>(new Set())
export const focused = signal<string | null>(null)
/** Where a selection with Shift begins. */
export const anchor = signal<string | null>(null)
export const draft = signal<Draft | null>(null)
export const filter = signal('')
export const taken = signal<TakenNodes | null>(null)
/** The directory into which a drop would go. */
export const dropTarget = signal<string | null>(null)
export const sortKey = signal<SortKey>((localStorage.getItem(SORT) as SortKey | null) ?? 'name')

export function sortBy(key: SortKey): void {
  localStorage.setItem(SORT, key)
  sortKey.value = key
}

export function setExpanded(path: string, isExpanded: boolean): void {
  const paths = new Set(expanded.peek())
  if (isExpanded) paths.add(path)
  else paths.delete(path)
  expanded.value = paths
}

/** Selects one node, and gives it the focus of the tree. */
export function selectOnly(path: string): void {
  focused.value = path
  anchor.value = path
  selected.value = new Set([path])
}

/** Shows where a file is. */
export function revealInTree(path: string): void {
  const paths = new Set([...expanded.peek(), ...ancestorsOf(path)])
  if (paths.size !== expanded.peek().size) expanded.value = paths
  selectOnly(path)
}

/** Gives the focus of the page to the tree. */
export function focusTree(): void {
  document.querySelector<HTMLElement>('[role="tree"]')?.focus()
}
