// Find and replace in CodeMirror, by its own search and the panel of this application.

import {
  closeSearchPanel,
  findNext,
  findPrevious,
  getSearchQuery,
  openSearchPanel,
  replaceAll,
  replaceNext,
  search,
  SearchQuery,
  setSearchQuery,
} from '@codemirror/search'
import type { Extension } from '@codemirror/state'
import { keymap, type EditorView, type Panel, type ViewUpdate } from '@codemirror/view'
import { signal } from '@preact/signals'
import { render } from 'preact'
import {
  EMPTY_STATE,
  focusFindPanel,
  showFindPanel,
  showsReplace,
  type FindQuery,
  type FindTarget,
} from './find_panel'

/** How many matches are counted. */
const MAX_COUNT = 10_000
/** How long typing pauses before matches are counted again. */
const PAUSE_MS = 100

class TextFindPanel implements Panel, FindTarget {
  readonly dom = document.createElement('div')
  readonly top = true
  readonly state = signal(EMPTY_STATE)
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly view: EditorView) {
    this.count()
    showFindPanel(this.dom, this)
  }

  update({ docChanged, selectionSet, transactions, state }: ViewUpdate): void {
    const isAsked = transactions.some((tr) => tr.effects.some((one) => one.is(setSearchQuery)))
    if (isAsked) {
      const { search, replace, caseSensitive, wholeWord, regexp } = getSearchQuery(state)
      const query = { search, replace, caseSensitive, wholeWord, regexp }
      this.state.value = { ...this.state.peek(), query }
    }
    if (!isAsked && !docChanged && !selectionSet) return
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.count(), isAsked ? 0 : PAUSE_MS)
  }

  destroy(): void {
    clearTimeout(this.timer)
    render(null, this.dom)
  }

  setQuery(query: FindQuery): void {
    const effects = setSearchQuery.of(new SearchQuery({ ...query, literal: !query.regexp }))
    this.view.dispatch({ effects })
  }

  readonly next = (): void => void findNext(this.view)
  readonly previous = (): void => void findPrevious(this.view)
  readonly replace = (): void => void replaceNext(this.view)
  readonly replaceAll = (): void => void replaceAll(this.view)

  close(): void {
    closeSearchPanel(this.view)
    this.view.focus()
  }

  private count(): void {
    const asked = getSearchQuery(this.view.state)
    const { search, replace, caseSensitive, wholeWord, regexp } = asked
    const { main } = this.view.state.selection
    let [total, current, isCut] = [0, 0, false]
    if (asked.valid) {
      const cursor = asked.getCursor(this.view.state)
      for (let found = cursor.next(); !found.done; found = cursor.next()) {
        if (total === MAX_COUNT) {
          isCut = true
          break
        }
        total += 1
        if (found.value.from === main.from && found.value.to === main.to) current = total
      }
    }
    this.state.value = {
      query: { search, replace, caseSensitive, wholeWord, regexp },
      current,
      total,
      isCut,
      isInvalid: search !== '' && !asked.valid,
      isReadOnly: this.view.state.readOnly,
    }
  }
}

function openReplace(view: EditorView): boolean {
  if (!view.state.readOnly) showsReplace.value = true
  openSearchPanel(view)
  focusFindPanel(view.dom, 'search')
  return true
}

/** Finds and replaces in a view. */
export const textFind = (): Extension => [
  search({ top: true, literal: true, createPanel: (view) => new TextFindPanel(view) }),
  keymap.of([{ key: 'Mod-h', run: openReplace, preventDefault: true }]),
]
