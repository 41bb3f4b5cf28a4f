// The documents that link to the open file, with the lines of the links.

import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { X } from 'lucide'
import type { EditorWorkspace, FileRow } from '../../documents'
import { plural, t } from '../../language/translate'
import { Icon } from '../../look/icon'
import { linkTargets } from '../markdown/blocks/wiki_links'
import { OPEN_PATH_EVENT } from '../markdown/rich_clicks'
import { useFocus } from '../../trust/focus'
import { findBacklinks, type Backlinks, type LinkLine } from './find_links'
import './backlinks.css'

/** How long changes of files are collected before the server is asked again. */
const REFRESH_MS = 600

export interface BacklinksOptions {
  workspace: EditorWorkspace
  /** The id of the file. */
  id: string
  /** Returns the present path of the file. */
  path: () => string
  onClose: () => void
}

type Rows = ReadonlyMap<string, FileRow>

interface Answer {
  links: Backlinks | null
  problem: string | null
}

/** Reports whether links to a file may have changed: not by what is written in the file itself. */
function mayHaveChanged(before: Rows, now: Rows, id: string): boolean {
  if (before.size !== now.size) return true
  for (const [key, row] of now) {
    const old = before.get(key)
    const isPlaced =
      old?.name === row.name && old.parentId === row.parentId && old.trashedAt === row.trashedAt
    if (!isPlaced || (key !== id && old.updatedAt !== row.updatedAt)) return true
  }
  return false
}

/** Asks when the panel opens and after changes of files, one question at a time. */
function useBacklinks({ workspace, id, path }: BacklinksOptions): Answer {
  const [answer, setAnswer] = useState<Answer>({ links: null, problem: null })
  useEffect(() => {
    const targets = linkTargets(workspace)
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      const next = await findBacklinks(workspace, path(), targets).then(
        (links) => ({ links, problem: null }),
        (failure: Error) => ({ links: null, problem: failure.message }),
      )
      if (isGone) return
      // What was found stays while the server is away.
      setAnswer((known) => ({ links: next.links ?? known.links, problem: next.problem }))
    }
    let asking = Promise.resolve()
    let delay = 0
    let before: Rows = new Map()
    const stop = effect(() => {
      const now = workspace.rows.value
      const isAsked = delay === 0 || mayHaveChanged(before, now, id)
      before = now
      if (!isAsked) return
      timer ??= setTimeout(() => {
        asking = asking.then(() => {
          timer = undefined
          return isGone ? undefined : ask()
        })
      }, delay)
      delay = REFRESH_MS
    })
    return () => {
      isGone = true
      stop()
      clearTimeout(timer)
    }
  }, [workspace])
  return answer
}

function totalsOf({ files, isCut }: Backlinks): string {
  if (files.length === 0) return t('No document links to this file.')
  const nLines = files.reduce((sum, { lines }) => sum + lines.length, 0)
  const lines = plural(nLines, '1 line', '{n} lines')
  const counted = plural(files.length, '{lines} in 1 file', '{lines} in {n} files', { lines })
  return isCut ? t('{counted}; there may be more', { counted }) : counted
}

export function BacklinksPanel(options: BacklinksOptions) {
  const { links, problem } = useBacklinks(options)
  const root = useRef<HTMLElement>(null)
  const close = useRef<HTMLButtonElement>(null)
  useFocus(root, close)
  const open = (path: string, line?: number) => {
    const detail = { path, line }
    root.current?.dispatchEvent(new CustomEvent(OPEN_PATH_EVENT, { bubbles: true, detail }))
  }
  return (
    <section class="backlinks" aria-label={t('Links to this file')} ref={root}>
      <header>
        <h2>{t('Links to this file')}</h2>
        <button
          ref={close}
          type="button"
          class="plain"
          aria-label={t('Close')}
          onClick={options.onClose}
        >
          <Icon of={X} />
        </button>
      </header>
      <p class="faint" role="status">
        {problem ?? (links === null ? t('Loading…') : totalsOf(links))}
      </p>
      {links?.files.map(({ path, id, lines }) => (
        <section key={id} aria-label={path}>
          <h3>
            <button type="button" class="plain" title={path} onClick={() => open(path)}>
              <bdi>{path}</bdi>
            </button>
          </h3>
          <ul>
            {lines.map((line) => (
              <li key={line.line}>
                <button type="button" class="plain" onClick={() => open(path, line.line)}>
                  <span class="faint">{line.line}</span>
                  <LineText {...line} />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </section>
  )
}

function LineText({ text, marks }: LinkLine) {
  const parts = []
  let at = 0
  for (const [start, end] of marks) {
    parts.push(text.slice(at, start), <mark>{text.slice(start, end)}</mark>)
    at = end
  }
  return (
    <span class="backlinks-text" dir="auto">
      {parts}
      {text.slice(at)}
    </span>
  )
}
