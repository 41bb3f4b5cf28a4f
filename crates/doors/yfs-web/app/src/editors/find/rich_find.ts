// Find and replace in rich text: matches are decorations, and replacing is one step of undo.

import { signal } from '@preact/signals'
import { render } from 'preact'
import type { Node } from 'prosemirror-model'
import { Plugin, PluginKey, TextSelection } from 'prosemirror-state'
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view'
import { yUndoPluginKey } from 'y-prosemirror'
import type { UndoManager } from 'yjs'
import {
  EMPTY_STATE,
  focusFindPanel,
  showFindPanel,
  showsReplace,
  type FindQuery,
  type FindTarget,
} from './find_panel'

/** How many matches are found. */
const MAX_MATCHES = 2000
/** How long typing pauses before matches are looked for again. */
const PAUSE_MS = 150

interface RichMatch {
  from: number
  to: number
  groups: string[]
}

interface ShownMatches {
  decorations: DecorationSet
}

const key = new PluginKey<ShownMatches>('find')

/** Returns the expression of a query; null if it is not valid. */
function expressionOf({ search, caseSensitive, wholeWord, regexp }: FindQuery): RegExp | null {
  const source = regexp ? search : search.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const whole = wholeWord ? `(?<![\\p{L}\\p{N}_])(?:${source})(?![\\p{L}\\p{N}_])` : source
  try {
    return new RegExp(whole, caseSensitive ? 'gu' : 'giu')
  } catch {
    return null
  }
}

/** Finds an expression in each block of text. */
function matchesIn(doc: Node, expression: RegExp): RichMatch[] {
  const found: RichMatch[] = []
  doc.descendants((node, at) => {
    if (!node.isTextblock) return found.length <= MAX_MATCHES
    const text = node.textBetween(0, node.content.size, undefined, '\ufffc')
    for (const match of text.matchAll(expression)) {
      if (match[0] === '') continue
      const from = at + 1 + match.index
      found.push({ from, to: from + match[0].length, groups: [...match] })
      if (found.length > MAX_MATCHES) break
    }
    return false
  })
  return found
}

class RichFind implements FindTarget {
  readonly state = signal(EMPTY_STATE)
  private readonly host = document.createElement('div')
  private matches: RichMatch[] = []
  private timer: ReturnType<typeof setTimeout> | undefined
  private isOpen = false

  constructor(
    private readonly view: EditorView,
    private readonly place: HTMLElement,
  ) {}

  open(withReplace: boolean): void {
    const { from, to } = this.view.state.selection
    const chosen = this.view.state.doc.textBetween(from, to, '\n')
    const search = chosen !== '' && !chosen.includes('\n') ? chosen : null
    if (withReplace && this.view.editable) showsReplace.value = true
    if (!this.isOpen) {
      this.isOpen = true
      this.place.append(this.host)
      showFindPanel(this.host, this)
    }
    const { query } = this.state.peek()
    this.setQuery(search === null ? query : { ...query, search })
    focusFindPanel(this.host)
  }

  /** After a transaction. */
  update(isChanged: boolean): void {
    if (!this.isOpen) return
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.look(), isChanged ? PAUSE_MS : 0)
  }

  close(): void {
    this.hide()
    this.view.focus()
  }

  hide(): void {
    clearTimeout(this.timer)
    this.isOpen = false
    render(null, this.host)
    this.host.remove()
    this.matches = []
    if (!this.view.isDestroyed) this.show()
  }

  setQuery(query: FindQuery): void {
    this.state.value = { ...this.state.peek(), query }
    this.look()
  }

  next(): void {
    this.look()
    const { from, to } = this.view.state.selection
    const after = this.matches.find((match) => match.from >= (from === to ? from : to))
    this.select(after ?? this.matches[0])
  }

  previous(): void {
    this.look()
    const { from } = this.view.state.selection
    this.select(this.matches.findLast((match) => match.to <= from) ?? this.matches.at(-1))
  }

  replace(): void {
    this.look()
    const { from, to } = this.view.state.selection
    const match = this.matches.find((one) => one.from === from && one.to === to)
    if (match !== undefined) this.put([match])
    this.next()
  }

  replaceAll(): void {
    this.look()
    this.put(this.matches)
    this.look()
  }

  private put(matches: RichMatch[]): void {
    if (!this.view.editable || matches.length === 0) return
    const { query } = this.state.peek()
    const undo = yUndoPluginKey.getState(this.view.state) as { undoManager: UndoManager }
    undo.undoManager.stopCapturing()
    const { tr } = this.view.state
    for (const { from, to, groups } of [...matches].reverse()) {
      const group = (hole: string, n: string) => (n === '&' ? groups[0]! : (groups[+n] ?? hole))
      const text = query.regexp ? query.replace.replace(/\$(\d|&)/g, group) : query.replace
      if (text === '') tr.delete(from, to)
      else tr.insertText(text, from, to)
    }
    this.view.dispatch(tr)
    undo.undoManager.stopCapturing()
  }

  private select(match: RichMatch | undefined): void {
    if (match === undefined) return
    const { tr } = this.view.state
    const selection = TextSelection.create(tr.doc, match.from, match.to)
    this.view.dispatch(tr.setSelection(selection).scrollIntoView())
    this.look()
  }

  private look(): void {
    if (this.view.isDestroyed || !this.isOpen) return
    const { query } = this.state.peek()
    const expression = query.search === '' ? null : expressionOf(query)
    const { doc, selection } = this.view.state
    const found = expression === null ? [] : matchesIn(doc, expression)
    this.matches = found.slice(0, MAX_MATCHES)
    const isSelected = ({ from, to }: RichMatch) => from === selection.from && to === selection.to
    this.state.value = {
      query,
      current: this.matches.findIndex(isSelected) + 1,
      total: this.matches.length,
      isCut: found.length > MAX_MATCHES,
      isInvalid: query.search !== '' && expression === null,
      isReadOnly: !this.view.editable,
    }
    this.show()
  }

  private show(): void {
    const { doc, tr } = this.view.state
    const { current } = this.state.peek()
    const marks = this.matches.map(({ from, to }, n) =>
      Decoration.inline(from, to, {
        class: n + 1 === current ? 'find-match is-current' : 'find-match',
      }),
    )
    const decorations = DecorationSet.create(doc, marks)
    this.view.dispatch(tr.setMeta(key, { decorations }).setMeta('addToHistory', false))
  }
}

/** Finds in rich text by Ctrl+F, and replaces by Ctrl+H, with a panel at a place of the page. */
export function richFind(place: HTMLElement): Plugin<ShownMatches> {
  let find: RichFind | null = null
  return new Plugin<ShownMatches>({
    key,
    state: {
      init: () => ({ decorations: DecorationSet.empty }),
      apply: (tr, shown) => {
        const set = tr.getMeta(key) as ShownMatches | undefined
        if (set !== undefined) return set
        return { decorations: shown.decorations.map(tr.mapping, tr.doc) }
      },
    },
    view: (view) => {
      const made = new RichFind(view, place)
      find = made
      return {
        update: (_, before) => {
          const isChanged = before.doc !== view.state.doc
          if (isChanged || !before.selection.eq(view.state.selection)) made.update(isChanged)
        },
        destroy: () => made.hide(),
      }
    },
    props: {
      decorations: (state) => key.getState(state)?.decorations,
      handleKeyDown: (_, event) => {
        const isMod = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
        const letter = event.key.toLowerCase()
        if (isMod && (letter === 'f' || letter === 'h')) find?.open(letter === 'h')
        else if (event.key === 'F3' && find !== null && find.state.peek().query.search !== '') {
          if (event.shiftKey) find.previous()
          else find.next()
        } else return false
        event.preventDefault()
        return true
      },
    },
  })
}
