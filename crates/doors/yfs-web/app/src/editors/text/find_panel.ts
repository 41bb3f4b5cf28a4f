// The panel that finds and replaces in a text, in place of the one of CodeMirror.

import {
  closeSearchPanel,
  findNext,
  findPrevious,
  getSearchQuery,
  replaceAll,
  replaceNext,
  search,
  SearchQuery,
  setSearchQuery,
} from '@codemirror/search'
import type { EditorState, Extension } from '@codemirror/state'
import { runScopeHandlers, type EditorView, type Panel, type ViewUpdate } from '@codemirror/view'
import { ArrowDown, ArrowUp, CaseSensitive, Regex, WholeWord, X, type IconNode } from 'lucide'
import { t } from '../../language/translate'
import { makeIcon } from '../../look/icon'
import './find_panel.css'

/** Beyond this many matches the panel does not count. */
const MAX_COUNTED = 9999

/** Says which of how many matches is selected. */
function countOf(state: EditorState, query: SearchQuery): string {
  if (query.search === '') return ''
  if (!query.valid) return t('Not an expression')
  const { from, to } = state.selection.main
  let [total, current] = [0, 0]
  const cursor = query.getCursor(state)
  for (let found = cursor.next(); found.done !== true; found = cursor.next()) {
    total += 1
    if (found.value.from === from && found.value.to === to) current = total
    if (total > MAX_COUNTED) return t('more than {n}', { n: MAX_COUNTED })
  }
  if (total === 0) return t('Nothing found')
  return current === 0 ? t('{n} found', { n: total }) : t('{n} of {total}', { n: current, total })
}

function button(label: string, icon: IconNode | null, run: () => void): HTMLButtonElement {
  const element = document.createElement('button')
  element.type = 'button'
  element.title = label
  element.className = icon === null ? '' : 'plain'
  element.setAttribute('aria-label', label)
  element.append(icon === null ? label : makeIcon(icon))
  element.addEventListener('click', run)
  return element
}

function field(label: string): HTMLInputElement {
  const element = document.createElement('input')
  element.className = 'field'
  element.placeholder = label
  element.setAttribute('aria-label', label)
  return element
}

type Toggle = 'caseSensitive' | 'wholeWord' | 'regexp'

class FindPanel implements Panel {
  readonly dom = document.createElement('div')
  readonly top = true
  private readonly find = field(t('Find'))
  private readonly replacement = field(t('Replace by'))
  private readonly count = document.createElement('span')
  private readonly toggles = new Map<Toggle, HTMLButtonElement>()

  constructor(private readonly view: EditorView) {
    this.dom.className = 'find-panel'
    this.dom.setAttribute('role', 'search')
    this.count.className = 'find-count'
    this.count.setAttribute('role', 'status')
    this.find.setAttribute('main-field', 'true')
    const rows = [this.findRow(), ...(view.state.readOnly ? [] : [this.replaceRow()])]
    this.dom.append(...rows)
    this.dom.addEventListener('keydown', (event) => this.onKeyDown(event))
    for (const input of [this.find, this.replacement]) {
      input.addEventListener('input', () => this.commit())
    }
    this.show(getSearchQuery(view.state))
  }

  mount(): void {
    this.find.select()
  }

  update(update: ViewUpdate): void {
    for (const tr of update.transactions) {
      for (const effect of tr.effects) {
        if (effect.is(setSearchQuery) && !effect.value.eq(this.query())) this.show(effect.value)
      }
    }
    if (update.docChanged || update.selectionSet || update.transactions.length > 0) this.tell()
  }

  private findRow(): HTMLElement {
    const row = document.createElement('div')
    const { view } = this
    row.append(
      this.find,
      this.count,
      this.toggle('caseSensitive', t('Match case'), CaseSensitive),
      this.toggle('wholeWord', t('Whole words'), WholeWord),
      this.toggle('regexp', t('Regular expression'), Regex),
      button(t('Previous (Shift+Enter)'), ArrowUp, () => void findPrevious(view)),
      button(t('Next (Enter)'), ArrowDown, () => void findNext(view)),
      button(t('Close'), X, () => void closeSearchPanel(view)),
    )
    return row
  }

  private replaceRow(): HTMLElement {
    const row = document.createElement('div')
    row.append(
      this.replacement,
      button(t('Replace'), null, () => void replaceNext(this.view)),
      button(t('Replace all'), null, () => void replaceAll(this.view)),
    )
    return row
  }

  private toggle(name: Toggle, label: string, icon: IconNode): HTMLButtonElement {
    const element = button(label, icon, () => {
      element.setAttribute('aria-pressed', String(!this.isOn(name)))
      this.commit()
    })
    element.setAttribute('aria-pressed', 'false')
    this.toggles.set(name, element)
    return element
  }

  private isOn(name: Toggle): boolean {
    return this.toggles.get(name)?.getAttribute('aria-pressed') === 'true'
  }

  private query(): SearchQuery {
    return new SearchQuery({
      search: this.find.value,
      replace: this.replacement.value,
      caseSensitive: this.isOn('caseSensitive'),
      wholeWord: this.isOn('wholeWord'),
      regexp: this.isOn('regexp'),
      literal: !this.isOn('regexp'),
    })
  }

  private show(query: SearchQuery): void {
    this.find.value = query.search
    this.replacement.value = query.replace
    for (const [name, element] of this.toggles) {
      element.setAttribute('aria-pressed', String(query[name]))
    }
    this.tell()
  }

  private commit(): void {
    this.view.dispatch({ effects: setSearchQuery.of(this.query()) })
  }

  private tell(): void {
    this.count.textContent = countOf(this.view.state, this.query())
  }

  private onKeyDown(event: KeyboardEvent): void {
    if (runScopeHandlers(this.view, event, 'search-panel')) {
      event.preventDefault()
    } else if (event.key === 'Enter' && event.target === this.find) {
      event.preventDefault()
      if (event.shiftKey) findPrevious(this.view)
      else findNext(this.view)
    } else if (event.key === 'Enter' && event.target === this.replacement) {
      event.preventDefault()
      replaceNext(this.view)
    }
  }
}

/** Finds and replaces with a panel of our own above the text. */
export const findPanel = (): Extension =>
  search({ top: true, createPanel: (view) => new FindPanel(view) })
