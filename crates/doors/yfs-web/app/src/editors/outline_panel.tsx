// The headings of the open document, and how long it is.

import type { ReadonlySignal } from '@preact/signals'
import { X } from 'lucide'
import { plural, t } from '../language/translate'
import { Icon } from '../look/icon'
import type { MountedEditor, OutlineItem } from './mounted_editor'
import './outline_panel.css'

export interface OutlinePanelProps {
  shown: ReadonlySignal<MountedEditor | null>
  onClose: () => void
}

export function OutlinePanel({ shown, onClose }: OutlinePanelProps) {
  const editor = shown.value
  const items = editor?.outline?.value ?? []
  const counts = editor?.counts?.value
  const choose = (id: string) => {
    // In a small window, the panel is in the place of the page.
    if (matchMedia('(max-width: 640px)').matches) onClose()
    editor?.revealHeading?.(id)
  }
  const first = Math.min(6, ...items.map(({ level }) => level))
  return (
    <nav class="outline-panel" aria-label={t('Outline')}>
      <header>
        <h2>{t('Outline')}</h2>
        <button type="button" aria-label={t('Close')} onClick={onClose}>
          <Icon of={X} />
        </button>
      </header>
      {items.length === 0 && (
        <p class="outline-note">{t('Headings of the document appear here.')}</p>
      )}
      <ol>
        {items.map((item) => (
          <Heading key={item.id} item={item} first={first} onChoose={() => choose(item.id)} />
        ))}
      </ol>
      {counts !== undefined && (
        <p class="outline-note" role="status">
          {plural(counts.words, '1 word', '{n} words')} ·{' '}
          {plural(counts.minutes, '1 minute to read', '{n} minutes to read')}
        </p>
      )}
    </nav>
  )
}

function Heading(props: { item: OutlineItem; first: number; onChoose: () => void }) {
  const { item, first, onChoose } = props
  return (
    <li style={{ '--level': item.level - first }}>
      <button type="button" dir="auto" onClick={onChoose}>
        {item.text}
      </button>
    </li>
  )
}
