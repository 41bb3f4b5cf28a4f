// A row of the tree.

import { Bot, ChevronDown, ChevronRight, Ellipsis } from 'lucide'
import { language, t } from '../language/translate'
import { Icon } from '../look/icon'
import { lastSeenText } from '../people/last_seen'
import { readableOn } from '../people/readable'
import type { Peer } from '../session/source'
import type { Session } from '../session/workspace'
import { iconOf } from './file_icon'
import { NameInput } from './name_input'
import { cancelDraft, finishDraft, moveInto, uploadDropped } from './tree_actions'
import { isNumbered, parentOf, topOf, type TreeRow } from './tree_model'
import { draft, dropTarget, focused, selected, taken } from './tree_state'

/** The type of what is dragged from a tree, also to another window. */
export const DRAGGED = 'application/x-yfs'

/** How long a finger rests until the menu opens, in milliseconds. */
const PRESS_MS = 500

export interface TreeRowProps {
  row: TreeRow
  top: number
  session: Session
  isOpen: boolean
  onAct: (row: TreeRow, event: MouseEvent) => void
  onOpen: (path: string) => void
  onMenu: (path: string, at: { left: number; top: number }) => void
  onSharedName: (id: string) => void
}

export function rowId(path: string): string {
  return `row-${path}`
}

const indent = (depth: number) => `calc(${depth * 14}px + var(--space-2))`

export function TreeRowView(props: TreeRowProps) {
  const { row, top, session, isOpen, onAct, onMenu } = props
  const { path, kind } = row.entry
  const isDirectory = kind === 'directory'
  const typed = draft.value
  if (typed !== null && (row.isDraft || typed.renames === path)) return <DraftRow {...props} />
  const classes = ['tree-row']
  if (isOpen) classes.push('is-open')
  if (selected.value.has(path)) classes.push('is-selected')
  if (focused.value === path) classes.push('is-focused')
  if (dropTarget.value === path) classes.push('is-drop-target')
  if (taken.value?.isCut === true && taken.value.paths.includes(path)) classes.push('is-cut')
  return (
    <div
      id={rowId(path)}
      class={classes.join(' ')}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={selected.value.has(path)}
      aria-expanded={isDirectory ? row.isExpanded : undefined}
      title={path}
      draggable
      style={{ top: `${top}px`, paddingInlineStart: indent(row.depth) }}
      onClick={(event) => onAct(row, event)}
      onContextMenu={(event) => {
        event.preventDefault()
        onMenu(path, { left: event.clientX, top: event.clientY })
      }}
      {...longPress((at) => onMenu(path, at))}
      {...dragHandlers(session, row)}
    >
      <span class="tree-mark" aria-hidden="true">
        {isDirectory && (
          <Icon of={row.isExpanded ? ChevronDown : ChevronRight} isPointing={!row.isExpanded} />
        )}
      </span>
      <Icon of={iconOf(row)} />
      <span class="tree-name" title={describe(session, row)}>
        {row.name}
      </span>
      <Marks {...props} />
      <span
        class="tree-more"
        aria-hidden="true"
        title={t('More actions')}
        onClick={(event) => {
          event.stopPropagation()
          const { left, bottom } = event.currentTarget.getBoundingClientRect()
          onMenu(path, { left, top: bottom })
        }}
      >
        <Icon of={Ellipsis} />
      </span>
    </div>
  )
}

function DraftRow({ row, top, session, onOpen }: TreeRowProps) {
  const typed = draft.value!
  const isFile = typed.kind === 'file'
  const label =
    typed.renames !== null
      ? t('New name of {name}', { name: row.name })
      : isFile
        ? t('Name of the new file')
        : t('Name of the new folder')
  return (
    <div
      class="tree-row is-draft"
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected="false"
      style={{ top: `${top}px`, paddingInlineStart: indent(row.depth) }}
    >
      <span class="tree-mark" aria-hidden="true" />
      <Icon of={iconOf(row)} />
      <NameInput
        label={label}
        initial={row.name}
        onName={(name) => finishDraft(session, typed, name, onOpen)}
        onCancel={cancelDraft}
      />
    </div>
  )
}

/** Says when a file changed, how long it is, and who saw it last, below its path. */
function describe(session: Session, row: TreeRow): string {
  const { path, mtime, size, kind, guid } = row.entry
  const style = { dateStyle: 'medium', timeStyle: 'short' } as const
  const when = new Intl.DateTimeFormat(language.value, style).format(mtime)
  const changed = t('Changed {when}', { when })
  if (kind !== 'file') return `${path}\n${changed}`
  const lines = [path, `${changed} · ${t('{n} bytes', { n: size })}`, lastSeenText(session, guid)]
  return lines.filter((line) => line !== '').join('\n')
}

function Marks({ row, session, onSharedName }: TreeRowProps) {
  const { guid } = row.entry
  const here = session.peers.value.filter((peer) => peer.open === guid)
  const stored = session.rows.value.get(guid)?.name
  return (
    <>
      {isNumbered(row, stored) && (
        <button
          type="button"
          class="tree-badge"
          tabIndex={-1}
          title={t('Two files have the name {name}. Click to settle this.', { name: stored! })}
          onClick={(event) => {
            event.stopPropagation()
            onSharedName(guid)
          }}
        >
          {t('same name')}
        </button>
      )}
      {here.map((peer) => (peer.agent ? <AgentMark key={peer.client} {...peer} /> : dotOf(peer)))}
    </>
  )
}

const dotOf = ({ client, color, name }: Peer) => (
  <span
    key={client}
    class="dot"
    style={{ background: color }}
    title={t('{name} has this file open', { name })}
  />
)

/** Shows an agent at the file that it reads, or has just written. */
function AgentMark({ name, color, writes }: Peer) {
  const title = writes
    ? t('{name} writes this file', { name })
    : t('{name} reads this file', { name })
  const style = writes ? { background: color, color: readableOn(color) } : { color }
  return (
    <span class={writes ? 'agent-mark writes' : 'agent-mark'} style={style} title={title}>
      <Icon of={Bot} />
    </span>
  )
}

/** Opens a menu where a finger rests. A mouse has its second button. */
function longPress(open: (at: { left: number; top: number }) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = () => clearTimeout(timer)
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.pointerType !== 'touch') return
      const at = { left: event.clientX, top: event.clientY }
      timer = setTimeout(() => open(at), PRESS_MS)
    },
    onPointerUp: stop,
    onPointerMove: stop,
    onPointerCancel: stop,
  }
}

/** Returns what drops files or nodes into a directory. */
export function dropHandlers(session: Session, directory: string) {
  return {
    onDragOver: (event: DragEvent) => {
      const types = event.dataTransfer?.types ?? []
      if (session.readOnly || !(types.includes('Files') || types.includes(DRAGGED))) return
      event.preventDefault()
      event.stopPropagation()
      dropTarget.value = directory
    },
    onDragLeave: () => (dropTarget.value = null),
    onDrop: (event: DragEvent) => {
      const transfer = event.dataTransfer
      dropTarget.value = null
      if (transfer === null || session.readOnly) return
      event.preventDefault()
      event.stopPropagation()
      const data = transfer.getData(DRAGGED)
      if (data === '') return uploadDropped(session, directory, transfer)
      const dragged = JSON.parse(data) as { workspace: string; paths: string[] }
      if (dragged.workspace === session.id) void moveInto(session, dragged.paths, directory)
    },
  }
}

function dragHandlers(session: Session, row: TreeRow) {
  const { path, kind } = row.entry
  return {
    ...dropHandlers(session, kind === 'directory' ? path : parentOf(path)),
    onDragStart: (event: DragEvent) => {
      const paths = selected.peek().has(path) ? topOf(selected.peek()) : [path]
      const dragged = JSON.stringify({ workspace: session.id, paths })
      event.dataTransfer?.setData(DRAGGED, dragged)
    },
  }
}
