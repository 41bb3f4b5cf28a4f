// The bar above an editor: who is here, whether the server has everything, and the views.

import type { ReadonlySignal, Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Awareness } from 'y-protocols/awareness'
import { savedStateText, type OpenDocument, type SavedState } from '../documents'
import { t } from '../language/translate'
import { editLabel, previewLabel } from './preview/previews'

export type EditorMode = 'edit' | 'preview' | 'source' | 'split' | 'blame'

export interface HeaderProps {
  opened: OpenDocument
  /** What the editor stores itself, beside the document. */
  ownState: ReadonlySignal<SavedState> | null
  /** The name of the file. */
  name: string
  modes: EditorMode[]
  mode: EditorMode
  showsHistory: boolean
  onMode: (mode: EditorMode) => void
  onHistory: () => void
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

export const viewLabels = (name: string): Record<EditorMode, string> => ({
  edit: editLabel(name),
  preview: previewLabel(name),
  source: t('Source'),
  split: t('Split'),
  blame: t('Authors'),
})

export function EditorHeader(props: { state: Signal<HeaderProps> }) {
  const {
    opened,
    name: fileName,
    ownState,
    modes,
    mode,
    showsHistory,
    onMode,
    onHistory,
  } = props.state.value
  const people = usePeople(opened.awareness)
  const own = ownState?.value ?? 'saved'
  const saved = own === 'saved' ? opened.savedState.value : own
  return (
    <>
      <ul class="editor-people" aria-label={t('Also here')}>
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
        <div class="editor-modes segments" role="group" aria-label={t('View')}>
          {modes.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === mode}
              onClick={() => onMode(name)}
            >
              {viewLabels(fileName)[name]}
            </button>
          ))}
        </div>
      )}
      <button type="button" class="editor-history" aria-pressed={showsHistory} onClick={onHistory}>
        {t('History')}
      </button>
    </>
  )
}
