// The bar above an editor: who is here, whether the server has everything, and the views.

import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { Ellipsis } from 'lucide'
import type { Awareness } from 'y-protocols/awareness'
import { savedStateText, type OpenDocument } from '../documents'
import { t } from '../language/translate'
import { Icon } from '../look/icon'
import { openMenuBelow } from '../look/menu'
import type { EditorAction } from './mounted_editor'

export type EditorMode = 'edit' | 'source' | 'blame'

export interface HeaderProps {
  opened: OpenDocument
  modes: EditorMode[]
  mode: EditorMode
  showsHistory: boolean
  onMode: (mode: EditorMode) => void
  onHistory: () => void
  /** Returns what the menu of the file offers. */
  actions: () => EditorAction[]
}

interface Person {
  client: number
  name: string
  color: string
}

function peopleOf(awareness: Awareness): Person[] {
  const people: Person[] = []
  for (const [client, state] of awareness.getStates()) {
    if (client === awareness.clientID) continue
    const user = (state as { user?: { name?: string; color?: string } }).user
    if (user?.name === undefined) continue
    people.push({ client, name: user.name, color: user.color ?? '#888888' })
  }
  return people.sort((a, b) => a.client - b.client)
}

function usePeople(awareness: Awareness): Person[] {
  const [people, setPeople] = useState(() => peopleOf(awareness))
  useEffect(() => {
    const update = () => setPeople(peopleOf(awareness))
    awareness.on('change', update)
    update()
    return () => awareness.off('change', update)
  }, [awareness])
  return people
}

const LABELS: Record<EditorMode, string> = { edit: 'Edit', source: 'Source', blame: 'Authors' }

/** Returns the items of the menu: what is switched. The bar and keys have the rest. */
const switchesOf = (actions: EditorAction[]) =>
  actions
    .filter(({ isOn }) => isOn !== undefined)
    .map(({ label, run, isOn }) => ({ label, run, isChecked: isOn === true }))

export function EditorHeader(props: { state: Signal<HeaderProps> }) {
  const { opened, modes, mode, showsHistory, onMode, onHistory, actions } = props.state.value
  const people = usePeople(opened.awareness)
  const saved = opened.savedState.value
  return (
    <>
      <ul class="editor-people" aria-label="Also here">
        {people.map(({ client, name, color }) => (
          <li key={client} title={name} style={{ '--person': color }}>
            <span aria-hidden="true">{[...name][0]?.toUpperCase()}</span>
            <span class="visually-hidden">{name}</span>
          </li>
        ))}
      </ul>
      <span class="saved-state" data-state={saved} role="status">
        {savedStateText(saved)}
      </span>
      {modes.length > 1 && (
        <div class="editor-modes" role="group" aria-label="View">
          {modes.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === mode}
              onClick={() => onMode(name)}
            >
              {LABELS[name]}
            </button>
          ))}
        </div>
      )}
      <button type="button" aria-pressed={showsHistory} onClick={onHistory}>
        History
      </button>
      {modes.includes('source') && (
        <button
          type="button"
          aria-haspopup="menu"
          aria-label={t('More')}
          onClick={({ currentTarget }) =>
            openMenuBelow(currentTarget, t('More'), switchesOf(actions()))
          }
        >
          <Icon of={Ellipsis} />
        </button>
      )}
    </>
  )
}
