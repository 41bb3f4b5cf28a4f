// What stood at a place before, below it in the text, with what can be done.

import { showTooltip, type EditorView, type Tooltip, type TooltipView } from '@codemirror/view'
import { StateEffect, StateField } from '@codemirror/state'
import { ChevronDown, ChevronUp, Undo2, X } from 'lucide'
import { render } from 'preact'
import { DiffLines } from '../../history/diff_view'
import { t } from '../../language/translate'
import { Icon } from '../../look/icon'
import { chunksOf, placeOf, setBase, takeBack, type ChangedPlace } from './changed_places'

/** Opens the panel of the chunk that begins at a place; null closes it. */
export const showChange = StateEffect.define<number | null>()

interface PanelProps {
  place: ChangedPlace
  canWrite: boolean
  onTakeBack: () => void
  onStep: (step: 1 | -1) => void
  onClose: () => void
}

function ChangePanel({ place, canWrite, onTakeBack, onStep, onClose }: PanelProps) {
  const { before, now, kind } = place
  const label = { added: t('New lines'), changed: t('Before'), deleted: t('Deleted lines') }[kind]
  return (
    <>
      <header>
        <b>{label}</b>
        {canWrite && (
          <button type="button" onClick={onTakeBack}>
            <Icon of={Undo2} />
            {t('Take back')}
          </button>
        )}
        <button
          type="button"
          class="plain"
          aria-label={t('Previous change')}
          onClick={() => onStep(-1)}
        >
          <Icon of={ChevronUp} />
        </button>
        <button type="button" class="plain" aria-label={t('Next change')} onClick={() => onStep(1)}>
          <Icon of={ChevronDown} />
        </button>
        <button type="button" class="plain" aria-label={t('Close')} onClick={onClose}>
          <Icon of={X} />
        </button>
      </header>
      {kind !== 'added' && <DiffLines before={before.join('\n')} after={now.join('\n')} />}
    </>
  )
}

/** Takes the lines of a place back to what they were. */
function undoPlace(view: EditorView, place: ChangedPlace): void {
  const changes = takeBack(view.state, place)
  view.dispatch({ changes, effects: showChange.of(null), userEvent: 'revert' })
  view.focus()
}

class ChangeTooltip implements TooltipView {
  readonly dom = document.createElement('div')

  constructor(view: EditorView, at: number, step: (view: EditorView, by: 1 | -1) => boolean) {
    this.dom.className = 'change-panel'
    this.dom.setAttribute('role', 'dialog')
    this.dom.setAttribute('aria-label', t('Change'))
    const chunk = chunksOf(view.state).find(({ fromB }) => fromB === at)
    const close = () => {
      view.dispatch({ effects: showChange.of(null) })
      view.focus()
    }
    this.dom.addEventListener('keydown', (event) => {
      event.stopPropagation()
      if (event.key === 'Escape') close()
    })
    if (chunk === undefined) return
    const place = placeOf(view.state, chunk)
    const props: PanelProps = {
      place,
      canWrite: !view.state.readOnly,
      onTakeBack: () => undoPlace(view, place),
      onStep: (by) => void step(view, by),
      onClose: close,
    }
    render(<ChangePanel {...props} />, this.dom)
  }

  mount(): void {
    this.dom.querySelector('button')?.focus()
  }

  destroy(): void {
    render(null, this.dom)
  }
}

/** The panel that is open. It closes when its text is edited. */
export const changePanel = (step: (view: EditorView, by: 1 | -1) => boolean) =>
  StateField.define<Tooltip | null>({
    create: () => null,
    update: (shown, { effects, docChanged, newDoc }) => {
      for (const effect of effects) {
        if (effect.is(setBase)) shown = null
        if (!effect.is(showChange)) continue
        if (effect.value === null) return null
        const at = effect.value
        const create = (view: EditorView) => new ChangeTooltip(view, at, step)
        return { pos: Math.min(at, newDoc.length), create, strictSide: false, arrow: false }
      }
      return docChanged ? null : shown
    },
    provide: (field) => showTooltip.from(field),
  })
