// The tree of files: virtual, with the keys of VS Code.

import { computed, signal, useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Session } from '../session/workspace'
import { report } from '../shell/message'
import {
  ancestorsOf,
  childrenByPath,
  isNumbered,
  join,
  nameOf,
  parentOf,
  visibleRows,
  type TreeRow,
} from './tree_model'

/** The height of a row, in CSS pixels; `tree.css` has the same. */
const ROW = 26
/** How many rows are drawn beyond the edges. */
const MARGIN = 10

export interface FileTreeProps {
  session: Session
  openPath: string | null
  onOpen: (path: string) => void
  /** A person wants to settle that several nodes have the name of this one. */
  onSharedName: (id: string) => void
}

/** A name that is being typed: for a new node, or for an existing one. */
interface Draft {
  directory: string
  kind: 'file' | 'directory'
  renames: string | null
}

const expanded = signal<ReadonlySet<string>>(new Set())
const selected = signal<ReadonlySet<string>>(new Set())
const focused = signal<string | null>(null)
const draft = signal<Draft | null>(null)

function setExpanded(path: string, isExpanded: boolean): void {
  const paths = new Set(expanded.peek())
  if (isExpanded) paths.add(path)
  else paths.delete(path)
  expanded.value = paths
}

/** Shows where a file is. */
export function revealInTree(path: string): void {
  const paths = new Set([...expanded.peek(), ...ancestorsOf(path)])
  if (paths.size !== expanded.peek().size) expanded.value = paths
  focused.value = path
  selected.value = new Set([path])
}

/** Begins a new file or directory in the directory of the focused node. */
export function createNode(session: Session, kind: 'file' | 'directory'): void {
  const at = focused.peek()
  const entry = session.entries.peek().find(({ path }) => path === at)
  const directory = at === null ? session.top : entry?.kind === 'directory' ? at : parentOf(at)
  if (directory !== '/') setExpanded(directory, true)
  draft.value = { directory, kind, renames: null }
}

/** Begins to rename the focused node. */
export function renameFocused(session: Session): void {
  const entry = session.entries.peek().find(({ path }) => path === focused.peek())
  if (entry === undefined || session.readOnly) return
  const kind = entry.kind === 'directory' ? 'directory' : 'file'
  draft.value = { directory: parentOf(entry.path), kind, renames: entry.path }
}

async function moveInto(session: Session, paths: readonly string[], directory: string) {
  for (const path of paths) {
    const isInside = directory === path || directory.startsWith(`${path}/`)
    if (isInside || parentOf(path) === directory) continue
    await report(session.move(path, join(directory, nameOf(path))))
  }
}

/** Moves what is selected to the trash. */
export async function trashSelected(session: Session): Promise<void> {
  const paths = [...selected.peek()]
  const isTop = (path: string) => !ancestorsOf(path).some((above) => selected.peek().has(above))
  for (const path of paths.filter(isTop)) await report(session.trash(path))
  selected.value = new Set()
}

/**
 * Makes or renames what a draft names, and opens a new file. A name that is refused stays, to be
 * corrected.
 */
async function finishDraft(
  session: Session,
  name: string,
  onOpen?: (path: string) => void,
): Promise<void> {
  const typed = draft.peek()
  if (typed === null) return
  const path = join(typed.directory, name)
  if (name !== '' && path !== typed.renames) {
    if (!(await report(sendDraft(session, typed, path)))) return
    focused.value = path
    if (typed.kind === 'file' && typed.renames === null) onOpen?.(path)
  }
  // Another one may have begun meanwhile.
  if (draft.peek() === typed) draft.value = null
}

function sendDraft(session: Session, typed: Draft, path: string): Promise<void> {
  if (typed.renames !== null) return session.move(typed.renames, path)
  if (typed.kind === 'directory') return session.createDirectory(path)
  return session.createFile(path)
}

export function FileTree({ session, openPath, onOpen, onSharedName }: FileTreeProps) {
  const children = useComputed(() => childrenByPath(session.entries.value))
  const rows = useComputed(() => visibleRows(children.value, expanded.value, session.top))
  const scroll = useSignal({ top: 0, height: 800 })
  const root = useRef<HTMLDivElement>(null)

  useEffect(() => {
    const element = root.current!
    const measure = () => {
      scroll.value = { top: element.scrollTop, height: element.clientHeight }
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => observer.disconnect()
  }, [])

  const act = (row: TreeRow, event: MouseEvent) => {
    const { path } = row.entry
    if (event.ctrlKey || event.metaKey) {
      const paths = new Set(selected.peek())
      if (!paths.delete(path)) paths.add(path)
      selected.value = paths
    } else if (event.shiftKey && focused.peek() !== null) {
      const all = rows.peek().map(({ entry }) => entry.path)
      const [a, b] = [all.indexOf(focused.peek()!), all.indexOf(path)]
      selected.value = new Set(all.slice(Math.min(a, b), Math.max(a, b) + 1))
      return
    } else {
      selected.value = new Set([path])
      if (row.entry.kind === 'directory') setExpanded(path, !row.isExpanded)
      else onOpen(path)
    }
    focused.value = path
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (draft.peek() !== null) return
    const list = rows.peek()
    const at = list.findIndex(({ entry }) => entry.path === focused.peek())
    const row = list[at]
    const go = (to: number) => {
      const target = list[Math.max(0, Math.min(list.length - 1, to))]
      if (target === undefined) return
      focused.value = target.entry.path
      selected.value = new Set([target.entry.path])
      keepInView(root.current!, list.indexOf(target))
    }
    const isDirectory = row?.entry.kind === 'directory'
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(list.length - 1),
      ArrowRight: () => {
        if (row === undefined || !isDirectory) return
        if (row.isExpanded) go(at + 1)
        else setExpanded(row.entry.path, true)
      },
      ArrowLeft: () => {
        if (row === undefined) return
        if (row.isExpanded) setExpanded(row.entry.path, false)
        else go(list.findIndex(({ entry }) => entry.path === parentOf(row.entry.path)))
      },
      Enter: () => {
        if (row === undefined) return
        if (isDirectory) setExpanded(row.entry.path, !row.isExpanded)
        else onOpen(row.entry.path)
      },
      F2: () => renameFocused(session),
      Delete: () => {
        if (!session.readOnly) void trashSelected(session)
      },
    }
    const action = keys[event.key]
    if (action === undefined) return
    event.preventDefault()
    action()
  }

  const total = rows.value.length
  const first = Math.max(0, Math.floor(scroll.value.top / ROW) - MARGIN)
  const last = Math.min(total, Math.ceil((scroll.value.top + scroll.value.height) / ROW) + MARGIN)
  const typed = draft.value
  return (
    <div
      ref={root}
      class="tree"
      role="tree"
      aria-label="Files"
      aria-multiselectable="true"
      tabIndex={0}
      aria-activedescendant={focused.value === null ? undefined : rowId(focused.value)}
      onKeyDown={onKeyDown}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void moveInto(session, draggedPaths(event), session.top)
      }}
    >
      {typed !== null && typed.renames === null && (
        <NameInput
          label={typed.kind === 'file' ? 'Name of the new file' : 'Name of the new directory'}
          depth={typed.directory === '/' ? 0 : typed.directory.split('/').length - 1}
          initial=""
          onDone={(name) => finishDraft(session, name, onOpen)}
        />
      )}
      <div style={{ height: `${total * ROW}px`, position: 'relative' }} role="presentation">
        {rows.value.slice(first, last).map((row, index) => (
          <TreeRowView
            key={row.entry.path}
            row={row}
            top={(first + index) * ROW}
            session={session}
            isOpen={row.entry.path === openPath}
            onAct={act}
            onSharedName={onSharedName}
          />
        ))}
      </div>
    </div>
  )
}

interface TreeRowViewProps {
  row: TreeRow
  top: number
  session: Session
  isOpen: boolean
  onAct: (row: TreeRow, event: MouseEvent) => void
  onSharedName: (id: string) => void
}

const focusedPath = computed(() => focused.value)

function TreeRowView({ row, top, session, isOpen, onAct, onSharedName }: TreeRowViewProps) {
  const { path, guid, kind } = row.entry
  const isDirectory = kind === 'directory'
  const here = session.peers.value.filter((peer) => peer.open === guid)
  const stored = session.rows.value.get(guid)?.name
  if (draft.value?.renames === path) {
    return (
      <div style={{ position: 'absolute', top: `${top}px`, left: 0, right: 0 }}>
        <NameInput
          label={`New name of ${row.name}`}
          depth={row.depth}
          initial={row.name}
          onDone={(name) => finishDraft(session, name)}
        />
      </div>
    )
  }
  const classes = ['tree-row']
  if (isOpen) classes.push('is-open')
  if (selected.value.has(path)) classes.push('is-selected')
  if (focusedPath.value === path) classes.push('is-focused')
  return (
    <div
      id={rowId(path)}
      class={classes.join(' ')}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={selected.value.has(path)}
      aria-expanded={isDirectory ? row.isExpanded : undefined}
      title={path}
      draggable={!session.readOnly}
      style={{ top: `${top}px`, paddingLeft: `${row.depth * 14 + 10}px` }}
      onClick={(event) => onAct(row, event)}
      onDragStart={(event) => {
        const paths = selected.peek().has(path) ? [...selected.peek()] : [path]
        event.dataTransfer?.setData('application/x-yfs', JSON.stringify(paths))
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        event.stopPropagation()
        void moveInto(session, draggedPaths(event), isDirectory ? path : parentOf(path))
      }}
    >
      <span class="tree-mark" aria-hidden="true">
        {isDirectory ? (row.isExpanded ? '▾' : '▸') : ''}
      </span>
      <span class="tree-name">{row.name}</span>
      {isNumbered(row, stored) && (
        <button
          type="button"
          class="tree-badge"
          tabIndex={-1}
          title={`Two files have the name ${stored}. Click to settle this.`}
          onClick={(event) => {
            event.stopPropagation()
            onSharedName(guid)
          }}
        >
          same name
        </button>
      )}
      {here.map((peer) => (
        <span
          key={peer.client}
          class="dot"
          style={{ background: peer.color }}
          title={`${peer.name} has this file open`}
        />
      ))}
    </div>
  )
}

interface NameInputProps {
  label: string
  depth: number
  initial: string
  /** Completes when the name was taken or refused; this input stays if it was refused. */
  onDone: (name: string) => Promise<void>
}

function NameInput({ label, depth, initial, onDone }: NameInputProps) {
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => {
    const element = input.current!
    element.focus()
    const dot = initial.lastIndexOf('.')
    element.setSelectionRange(0, dot > 0 ? dot : initial.length)
  }, [])
  const isSent = useRef(false)
  const finish = (name: string) => {
    if (isSent.current) return
    isSent.current = true
    void onDone(name).then(() => (isSent.current = false))
  }
  return (
    <input
      ref={input}
      class="tree-input"
      aria-label={label}
      placeholder={label}
      defaultValue={initial}
      style={{ marginLeft: `${depth * 14 + 22}px` }}
      onBlur={(event) => finish(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Enter') finish(event.currentTarget.value.trim())
        // Also while a name is being sent.
        if (event.key === 'Escape') void onDone('')
      }}
    />
  )
}

function rowId(path: string): string {
  return `row-${path}`
}

function draggedPaths(event: DragEvent): string[] {
  const data = event.dataTransfer?.getData('application/x-yfs')
  return data ? (JSON.parse(data) as string[]) : []
}

function keepInView(element: HTMLElement, index: number): void {
  const top = index * ROW
  if (top < element.scrollTop) element.scrollTop = top
  const bottom = top + ROW - element.clientHeight
  if (bottom > element.scrollTop) element.scrollTop = bottom
}
