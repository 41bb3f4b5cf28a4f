// One property in the form.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { X } from 'lucide'
import type * as Y from 'yjs'
import { t } from '../../language/translate'
import { Icon } from '../../look/icon'
import {
  isSame,
  textOf,
  valueOf,
  type FieldKind,
  type FrontMatterField,
} from './front_matter_model'

const kindNames = (): Record<FieldKind, string> => ({
  text: t('Text'),
  number: t('Number'),
  boolean: t('Yes or no'),
  list: t('List'),
  empty: t('Empty'),
  yaml: 'YAML',
})

interface FieldProps {
  field: FrontMatterField
  map: Y.Map<unknown>
  readOnly: boolean
}

/** Writes a value if it differs: an equal one would be an edit of its own. */
function write(map: Y.Map<unknown>, key: string, value: unknown): void {
  if (!map.has(key) || !isSame(map.get(key), value)) map.set(key, value)
}

export function FieldRow({ field, map, readOnly }: FieldProps) {
  const id = `front-matter-${field.key}`
  return (
    <div class="front-matter-row" data-key={field.key} data-kind={field.kind}>
      <label for={id} title={`${field.key}: ${kindNames()[field.kind]}`}>
        {field.key}
      </label>
      {field.kind === 'boolean' ? (
        <input
          id={id}
          type="checkbox"
          checked={field.value === true}
          disabled={readOnly}
          onChange={(event) => write(map, field.key, event.currentTarget.checked)}
        />
      ) : (
        <TextField id={id} field={field} map={map} readOnly={readOnly} />
      )}
      {!readOnly && (
        <button
          type="button"
          class="icon-button"
          aria-label={t('Remove {name}', { name: field.key })}
          title={t('Remove')}
          onClick={() => map.delete(field.key)}
        >
          <Icon of={X} />
        </button>
      )}
    </div>
  )
}

/** A field whose text is written when it is left or confirmed. */
function TextField({ id, field, map, readOnly }: FieldProps & { id: string }) {
  const stored = textOf(field)
  const [draft, setDraft] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  // What another person wrote is shown, unless this one is typing.
  useEffect(() => setError(null), [stored])

  const commit = () => {
    if (draft === null) return
    if (draft === stored) return setDraft(null)
    try {
      write(map, field.key, valueOf(draft, field.kind))
      setDraft(null)
      setError(null)
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure))
    }
  }
  const shared = {
    id,
    ref: input,
    value: draft ?? stored,
    readOnly,
    'aria-invalid': error !== null,
    'aria-describedby': error === null ? undefined : `${id}-error`,
    onBlur: commit,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Escape') {
        setDraft(null)
        setError(null)
      }
      if (event.key === 'Enter' && (field.kind !== 'yaml' || event.ctrlKey || event.metaKey))
        commit()
    },
  }
  return (
    <span class="front-matter-value">
      {field.kind === 'yaml' ? (
        <textarea
          {...shared}
          rows={Math.min(10, (draft ?? stored).split('\n').length)}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          type="text"
          inputMode={field.kind === 'number' ? 'decimal' : 'text'}
          placeholder={field.kind === 'empty' ? t('empty') : ''}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      )}
      {error !== null && (
        <span id={`${id}-error`} class="front-matter-error" role="alert">
          {error}
        </span>
      )}
    </span>
  )
}

const EMPTY_VALUES: [FieldKind, unknown][] = [
  ['text', ''],
  ['number', 0],
  ['boolean', false],
  ['list', []],
]

/** The form that adds a property. */
export function NewField({ map, startsOpen }: { map: Y.Map<unknown>; startsOpen: boolean }) {
  const [isOpen, setIsOpen] = useState(startsOpen)
  const [name, setName] = useState('')
  const [kind, setKind] = useState<string>('text')
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => input.current?.focus(), [isOpen])
  if (!isOpen) {
    return (
      <button type="button" class="front-matter-add" onClick={() => setIsOpen(true)}>
        {t('Add a property')}
      </button>
    )
  }
  const key = name.trim()
  const isTaken = map.has(key)
  return (
    <form
      class="front-matter-new"
      onSubmit={(event) => {
        event.preventDefault()
        if (key === '' || isTaken) return
        map.set(key, EMPTY_VALUES.find(([name]) => name === kind)?.[1] ?? '')
        setName('')
        setIsOpen(false)
      }}
    >
      <input
        ref={input}
        aria-label={t('Name of the property')}
        placeholder={t('name')}
        value={name}
        aria-invalid={isTaken}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <select
        aria-label={t('Kind of the property')}
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value)}
      >
        {EMPTY_VALUES.map(([name]) => (
          <option key={name} value={name}>
            {kindNames()[name]}
          </option>
        ))}
      </select>
      <button type="submit" disabled={key === '' || isTaken}>
        {t('Add')}
      </button>
    </form>
  )
}
