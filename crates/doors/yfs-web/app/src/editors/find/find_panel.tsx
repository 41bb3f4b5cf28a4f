// The panel that finds and replaces, for plain text and rich text.

import { signal, type Signal } from '@preact/signals'
import { render } from 'preact'
import { useState } from 'preact/hooks'
import {
  ArrowDown,
  ArrowUp,
  CaseSensitive,
  ChevronDown,
  ChevronRight,
  Regex,
  WholeWord,
  X,
  type IconNode,
} from 'lucide'
import { t } from '../../language/translate'
import { Icon } from '../../look/icon'
import './find_panel.css'

export interface FindQuery {
  search: string
  replace: string
  caseSensitive: boolean
  wholeWord: boolean
  regexp: boolean
}

export const EMPTY_QUERY: FindQuery = {
  search: '',
  replace: '',
  caseSensitive: false,
  wholeWord: false,
  regexp: false,
}

export interface FindState {
  query: FindQuery
  /** The number of the match that is selected, from 1; 0 if none is. */
  current: number
  total: number
  /** Whether there are more matches than were counted. */
  isCut: boolean
  isInvalid: boolean
  isReadOnly: boolean
}

export const EMPTY_STATE: FindState = {
  query: EMPTY_QUERY,
  current: 0,
  total: 0,
  isCut: false,
  isInvalid: false,
  isReadOnly: false,
}

/** What a panel searches. */
export interface FindTarget {
  state: Signal<FindState>
  setQuery(query: FindQuery): void
  next(): void
  previous(): void
  replace(): void
  replaceAll(): void
  close(): void
}

/** Whether panels show the field of what is put in; kept while the page is open. */
export const showsReplace = signal(false)

function countText({ query, current, total, isCut, isInvalid }: FindState): string {
  if (query.search === '') return ''
  if (isInvalid) return t('Not a valid expression')
  if (total === 0) return t('No results')
  const number = current === 0 ? '?' : current
  return isCut
    ? t('{current} of more than {total}', { current: number, total })
    : t('{current} of {total}', { current: number, total })
}

function Toggle(props: { icon: IconNode; label: string; isOn: boolean; onClick: () => void }) {
  const { icon, label, isOn, onClick } = props
  return (
    <button
      type="button"
      class="plain"
      aria-pressed={isOn}
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon of={icon} />
    </button>
  )
}

function ReplaceRow({ target, onKey }: { target: FindTarget; onKey: (e: KeyboardEvent) => void }) {
  const { query, total } = target.state.value
  return (
    <div class="find-row">
      <input
        class="field"
        name="replace"
        aria-label={t('Replace with')}
        placeholder={t('Replace with')}
        value={query.replace}
        onInput={({ currentTarget }) =>
          target.setQuery({ ...target.state.peek().query, replace: currentTarget.value })
        }
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            event.preventDefault()
            target.replace()
          } else onKey(event)
        }}
      />
      <button type="button" name="replace" disabled={total === 0} onClick={() => target.replace()}>
        {t('Replace')}
      </button>
      <button
        type="button"
        name="replaceAll"
        disabled={query.search === ''}
        onClick={() => target.replaceAll()}
      >
        {t('Replace all')}
      </button>
    </div>
  )
}

function FindPanel({ target }: { target: FindTarget }) {
  const { query, isReadOnly, isInvalid, total } = target.state.value
  const [isOpen, setOpen] = useState(showsReplace.peek())
  const hasReplace = (isOpen || showsReplace.value) && !isReadOnly
  const set = (change: Partial<FindQuery>) =>
    target.setQuery({ ...target.state.peek().query, ...change })
  const onKey = (event: KeyboardEvent) => {
    const isF3 = event.key === 'F3'
    if (event.key === 'Escape') target.close()
    else if (isF3 || event.key === 'Enter') event.shiftKey ? target.previous() : target.next()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div
      class="find-panel"
      role="search"
      aria-label={t('Find in this file')}
      onKeyDown={(event) => {
        if (event.key === 'Escape' || event.key === 'F3') onKey(event)
      }}
    >
      {!isReadOnly && (
        <button
          type="button"
          class="plain find-more"
          aria-expanded={hasReplace}
          aria-label={t('Show replace')}
          onClick={() => {
            setOpen(!hasReplace)
            showsReplace.value = !hasReplace
          }}
        >
          <Icon of={hasReplace ? ChevronDown : ChevronRight} isPointing={!hasReplace} />
        </button>
      )}
      <div class="find-rows">
        <div class="find-row">
          <input
            class="field"
            name="search"
            main-field="true"
            aria-label={t('Find')}
            placeholder={t('Find')}
            aria-invalid={isInvalid}
            value={query.search}
            onInput={({ currentTarget }) => set({ search: currentTarget.value })}
            onKeyDown={onKey}
          />
          <Toggle
            icon={CaseSensitive}
            label={t('Match case')}
            isOn={query.caseSensitive}
            onClick={() => set({ caseSensitive: !query.caseSensitive })}
          />
          <Toggle
            icon={WholeWord}
            label={t('Whole words')}
            isOn={query.wholeWord}
            onClick={() => set({ wholeWord: !query.wholeWord })}
          />
          <Toggle
            icon={Regex}
            label={t('Regular expression')}
            isOn={query.regexp}
            onClick={() => set({ regexp: !query.regexp })}
          />
          <span class="find-count" role="status">
            {countText(target.state.value)}
          </span>
          <button
            type="button"
            class="plain"
            aria-label={t('Previous result')}
            disabled={total === 0}
            onClick={() => target.previous()}
          >
            <Icon of={ArrowUp} />
          </button>
          <button
            type="button"
            class="plain"
            aria-label={t('Next result')}
            disabled={total === 0}
            onClick={() => target.next()}
          >
            <Icon of={ArrowDown} />
          </button>
          <button
            type="button"
            class="plain find-close"
            aria-label={t('Close')}
            onClick={() => target.close()}
          >
            <Icon of={X} />
          </button>
        </div>
        {hasReplace && <ReplaceRow target={target} onKey={onKey} />}
      </div>
    </div>
  )
}

/** Shows the panel in an element. */
export function showFindPanel(host: HTMLElement, target: FindTarget): void {
  render(<FindPanel target={target} />, host)
}

/** Puts the caret to a field of the panel in an element. */
export function focusFindPanel(host: HTMLElement, field: 'search' | 'replace' = 'search'): void {
  const input = host.querySelector<HTMLInputElement>(`input[name=${field}]`)
  input?.focus()
  input?.select()
}
