// A dialog in which letters find one of many choices: files, commands, symbols.

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { Dialog } from './dialog'
import './choice_dialog.css'

export interface Choice {
  label: string
  /** The keys that do the same, or what kind of thing it is. */
  keys?: string | undefined
  note?: string
  /** How many choices are around it. */
  depth?: number
  run: () => void
}

export interface ChoiceDialogProps {
  title: string
  /** The names of the field and of the list. */
  field: string
  list: string
  placeholder: string
  query: string
  onQuery: (query: string) => void
  /** Null until they are known. */
  choices: Choice[] | null
  /** The index of the choice that is selected before a key; by default the first. */
  selected?: number
  onClose: () => void
}

export function ChoiceDialog(props: ChoiceDialogProps) {
  const { title, query, choices, selected = 0 } = props
  const [chosen, setChosen] = useState<number | null>(null)
  const [isAwaited, setAwaited] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const at = chosen ?? selected
  const nChoices = choices?.length ?? 0
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => {
    const element = input.current!
    element.focus()
    element.setSelectionRange(element.value.length, element.value.length)
  }, [])
  useLayoutEffect(() => {
    list.current!.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [at, choices])
  // Enter came before the choices.
  useLayoutEffect(() => {
    if (isAwaited) choices?.[at]?.run()
  }, [isAwaited, choices])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setChosen(Math.max(0, Math.min(nChoices - 1, at + step)))
    } else if (event.key === 'Enter' && !event.isComposing) {
      event.preventDefault()
      if (choices === null) setAwaited(true)
      else choices[at]?.run()
    }
  }
  return (
    <Dialog title={title} onClose={props.onClose} isBare>
      <div class="choices" onKeyDown={onKeyDown}>
        <input
          ref={input}
          role="combobox"
          aria-expanded="true"
          aria-controls="choices-list"
          aria-activedescendant={nChoices === 0 ? undefined : `choice-${at}`}
          aria-label={props.field}
          placeholder={props.placeholder}
          value={query}
          onInput={(event) => {
            props.onQuery(event.currentTarget.value)
            setChosen(0)
          }}
        />
        <ul ref={list} id="choices-list" role="listbox" aria-label={props.list}>
          {choices?.map((choice, index) => (
            <Option key={`${index} ${choice.label}`} {...{ choice, index }} isOn={index === at} />
          ))}
        </ul>
        {choices?.length === 0 && <p class="faint no-choice">{t('Nothing matches.')}</p>}
      </div>
    </Dialog>
  )
}

function Option({ choice, index, isOn }: { choice: Choice; index: number; isOn: boolean }) {
  const { label, keys, note, depth = 0, run } = choice
  return (
    <li
      id={`choice-${index}`}
      role="option"
      aria-selected={isOn}
      class={isOn ? 'is-selected' : ''}
      style={{ '--depth': depth }}
      onClick={run}
    >
      <span class="choice-label" dir="auto">
        {label}
      </span>
      {keys !== undefined && <kbd>{keys}</kbd>}
      {note !== undefined && <span class="choice-note">{note}</span>}
    </li>
  )
}
