// The bar of format above a page, and the one beside a selection. Keys are those of the ARIA
// Authoring Practices, pattern "Toolbar".

import type { ReadonlySignal, Signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ChevronDown } from 'lucide'
import { t } from '../../../language/translate'
import { Icon } from '../../../look/icon'
import { openMenuBelow } from '../../../look/menu'
import { isRightToLeft } from '../../../look/place'
import { showKeys, type FormatAction } from './actions'
import './format.css'

export interface FormatBarProps {
  label: string
  marks: FormatAction[]
  blocks: FormatAction[]
  /** Those of the blocks that have a button of their own. */
  shownBlocks: string[]
  /** What holds at the selection. */
  format: ReadonlySignal<string[]>
  onLeave: () => void
}

/** Their lines begin where a line begins. */
const LISTS = ['bullets', 'numbers', 'tasks']

function ActionButton({ action, isOn }: { action: FormatAction; isOn: boolean }) {
  const { label, keys, icon, run } = action
  return (
    <button
      type="button"
      class="plain format-button"
      tabIndex={-1}
      aria-label={label}
      aria-pressed={isOn}
      aria-keyshortcuts={keys.replace('Mod', 'Control')}
      title={`${label} (${showKeys(keys)})`}
      onMouseDown={(event) => event.preventDefault()}
      onClick={run}
    >
      <Icon of={icon} isPointing={LISTS.includes(action.id)} />
    </button>
  )
}

/** Moves the focus between the buttons of a toolbar. */
function moveFocus(event: KeyboardEvent, bar: HTMLElement, onLeave: () => void): void {
  const buttons = [...bar.querySelectorAll<HTMLElement>('button')]
  const now = buttons.indexOf(document.activeElement as HTMLElement)
  const isRtl = isRightToLeft(bar)
  const steps: Record<string, number> = {
    ArrowRight: now + (isRtl ? -1 : 1),
    ArrowLeft: now + (isRtl ? 1 : -1),
    Home: 0,
    End: buttons.length - 1,
  }
  const target = steps[event.key]
  if (event.key === 'Escape') onLeave()
  else if (target === undefined) return
  else buttons[(target + buttons.length) % buttons.length]?.focus()
  event.preventDefault()
  event.stopPropagation()
}

export function FormatBar(props: FormatBarProps) {
  const { label, marks, blocks, shownBlocks, format, onLeave } = props
  const bar = useRef<HTMLDivElement>(null)
  const on = format.value
  const kind = blocks.find(({ id }) => id === on[0])
  const kindLabel = kind?.label ?? t('Heading')
  const openKinds = (event: Event) => {
    const items = blocks.map(({ id, label, icon, keys, run }) => ({
      label,
      icon,
      keys: showKeys(keys),
      isChecked: id === on[0],
      // After the menu has given the focus back.
      run: () => queueMicrotask(run),
    }))
    openMenuBelow(event.currentTarget as Element, t('Turn into'), items)
  }
  return (
    <div
      ref={bar}
      class="format-bar"
      role="toolbar"
      aria-label={label}
      onKeyDown={(event) => moveFocus(event, bar.current!, onLeave)}
    >
      <button
        type="button"
        class="plain format-kind"
        aria-label={t('Turn into: {kind}', { kind: kindLabel })}
        title={t('Turn into')}
        aria-haspopup="menu"
        onMouseDown={(event) => event.preventDefault()}
        onClick={openKinds}
      >
        {kindLabel}
        <Icon of={ChevronDown} />
      </button>
      <span class="format-line" />
      {marks.map((action) => (
        <ActionButton key={action.id} action={action} isOn={on.includes(action.id, 1)} />
      ))}
      {shownBlocks.length > 0 && <span class="format-line" />}
      {blocks
        .filter(({ id }) => shownBlocks.includes(id))
        .map((action) => (
          <ActionButton key={action.id} action={action} isOn={on[0] === action.id} />
        ))}
    </div>
  )
}

/** The bar above the page, which can be switched off. */
export function PageBar(props: FormatBarProps & { isShown: Signal<boolean> }) {
  return props.isShown.value ? <FormatBar {...props} /> : null
}
