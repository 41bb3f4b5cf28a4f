// Wiki links: `[[Page]]` and `[[Page|text]]` name a file anywhere in the tree.

import { effect } from '@preact/signals'
import { Decoration } from 'prosemirror-view'
import { Plugin } from 'prosemirror-state'
import type { EditorWorkspace, FileRow } from '../../../documents'
import { t } from '../../../language/translate'
import { pathOfRow, trashedAncestor } from '../../file_state'
import { OPEN_PATH_EVENT } from '../rich_clicks'
import type { LookPlace, TextMatch } from './inline_looks'

const LINK = /\[\[([^[\]|\n\r\ufffc]+)(?:\|([^[\]\n\r\ufffc]+))?\]\]/g

export function findWikiLinks(text: string): TextMatch[] {
  return [...text.matchAll(LINK)].map((match) => {
    const [whole, page = '', label] = match
    const labelAt = label === undefined ? 2 : 3 + page.length
    const from = match.index
    return { kind: 'wiki', from, to: from + whole.length, text: page.trim(), label: from + labelAt }
  })
}

const bareName = (name: string) => name.replace(/\.(md|markdown)$/i, '').toLowerCase()

const targetsOf = new WeakMap<EditorWorkspace, LinkTargets>()

/** Returns the files of a workspace by their names: all editors of it use one index. */
export function linkTargets(workspace: EditorWorkspace): LinkTargets {
  let targets = targetsOf.get(workspace)
  if (targets === undefined) targetsOf.set(workspace, (targets = new LinkTargets(workspace)))
  return targets
}

/** The files of a workspace by their names. */
export class LinkTargets {
  private byName = new Map<string, string[]>()
  private idByPath = new Map<string, string>()
  private indexed: Map<string, FileRow> | null = null

  constructor(
    private readonly workspace: EditorWorkspace & { pathOf?(id: string): string | null },
  ) {}

  /** Calls back when files came, went, or have other names. */
  onChange(call: () => void): () => void {
    let isFirst = true
    return effect(() => {
      void this.workspace.rows.value
      if (!isFirst) queueMicrotask(call)
      isFirst = false
    })
  }

  /** Returns the path of the file that a link names; null if there is none. */
  find(link: string): string | null {
    const wanted = bareName(link.replace(/#.*$/, '').replace(/^\/+/, ''))
    if (wanted === '') return null
    const paths = this.index().get(wanted.slice(wanted.lastIndexOf('/') + 1)) ?? []
    const fits = paths.filter((path) => bareName(path).endsWith(`/${wanted}`))
    return fits.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0] ?? null
  }

  /** Returns the file at a path; null if there is none. */
  rowAt(path: string): FileRow | null {
    this.index()
    const id = this.idByPath.get(path)
    return id === undefined ? null : (this.indexed?.get(id) ?? null)
  }

  /** Returns the names of documents that contain some text, those that begin with it first. */
  complete(text: string, limit: number): { name: string; path: string }[] {
    const wanted = text.toLowerCase()
    const found: { name: string; path: string; rank: number }[] = []
    for (const paths of this.index().values()) {
      for (const path of paths) {
        const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.(md|markdown)$/i, '')
        const at = name.toLowerCase().indexOf(wanted)
        if (at >= 0) found.push({ name, path, rank: at === 0 ? 0 : 1 })
      }
    }
    const order = (a: (typeof found)[0], b: (typeof found)[0]) =>
      a.rank - b.rank || a.name.localeCompare(b.name)
    return found.sort(order).slice(0, limit)
  }

  private index(): Map<string, string[]> {
    const rows = this.workspace.rows.peek()
    if (rows === this.indexed) return this.byName
    this.indexed = rows
    this.byName = new Map()
    this.idByPath = new Map()
    for (const row of rows.values()) {
      if (row.type !== 'file' || trashedAncestor(rows, row.id) !== null) continue
      const path = this.workspace.pathOf?.(row.id) ?? pathOfRow(rows, row.id)
      if (path === null) continue
      this.idByPath.set(path, row.id)
      const name = bareName(row.name)
      const paths = this.byName.get(name)
      if (paths === undefined) this.byName.set(name, [path])
      else paths.push(path)
    }
    return this.byName
  }
}

export function wikiLinkLooks(
  match: TextMatch,
  { from, to, isOpen }: LookPlace,
  targets: LinkTargets,
): Decoration[] {
  const path = targets.find(match.text)
  const label = from + (match.label - match.from)
  const attributes = {
    nodeName: 'span',
    class: path === null ? 'wiki-link is-broken' : 'wiki-link',
    title: path ?? t('No file has the name {name}', { name: match.text }),
    'data-page': match.text,
  }
  if (isOpen) return [Decoration.inline(from, to, attributes)]
  return [
    Decoration.inline(from, label, { class: 'hidden-source' }),
    Decoration.inline(label, to - 2, attributes),
    Decoration.inline(to - 2, to, { class: 'hidden-source' }),
  ]
}

/** Opens the file of a wiki link that is clicked. */
export function wikiClicks(targets: LinkTargets): Plugin {
  const pageAt = ({ target }: Event): string => {
    const link = target instanceof Element ? target.closest<HTMLElement>('.wiki-link') : null
    return link?.dataset['page'] ?? ''
  }
  const pathAt = (event: Event): string | null => targets.find(pageAt(event))
  return new Plugin({
    props: {
      handleDOMEvents: {
        // The caret stays where it is.
        mousedown: (_view, event) => {
          if (event.button !== 0 || event.shiftKey || pathAt(event) === null) return false
          event.preventDefault()
          return true
        },
        click: (view, event) => {
          const path = event.button === 0 && !event.shiftKey ? pathAt(event) : null
          if (path === null) return false
          const heading = /#(.+)$/.exec(pageAt(event))?.[1]?.toLowerCase().replace(/\s+/g, '-')
          const detail = { path, heading }
          view.dom.dispatchEvent(new CustomEvent(OPEN_PATH_EVENT, { bubbles: true, detail }))
          return true
        },
      },
    },
  })
}
