// The line below a text: where the caret is, how the text is indented, how its lines end, and what
// language it is in. Its parts are buttons where there is a choice.

import type { ReadonlySignal } from '@preact/signals'
import { render } from 'preact'
import { plural, t } from '../language/translate'
import { openMenuBelow, type MenuItems } from '../look/menu'
import './status_line.css'

export interface StatusPart {
  label: string
  /** What a click offers; null if there is no choice. */
  choices: (() => MenuItems) | null
}

export interface TextStatus {
  line: number
  column: number
  nSelected: number
  parts: StatusPart[]
}

interface StatusLineProps {
  status: ReadonlySignal<TextStatus>
  onGoToLine: () => void
}

function StatusLine({ status, onGoToLine }: StatusLineProps) {
  const { line, column, nSelected, parts } = status.value
  return (
    <>
      <button type="button" class="plain" title={t('Go to a line (Ctrl+G)')} onClick={onGoToLine}>
        {t('Line {line}, column {column}', { line, column })}
      </button>
      {nSelected > 0 && (
        <span>{plural(nSelected, '1 character selected', '{n} characters selected')}</span>
      )}
      <span class="status-space" />
      {parts.map(({ label, choices }) =>
        choices === null ? (
          <span key={label}>{label}</span>
        ) : (
          <button
            key={label}
            type="button"
            class="plain"
            aria-haspopup="menu"
            onClick={(event) => openMenuBelow(event.currentTarget, label, choices())}
          >
            {label}
          </button>
        ),
      )}
    </>
  )
}

/** Shows a status line at the end of a container; returns the end of it. */
export function mountStatusLine(container: HTMLElement, props: StatusLineProps): () => void {
  const element = document.createElement('div')
  element.className = 'status-line'
  container.append(element)
  render(<StatusLine {...props} />, element)
  return () => {
    render(null, element)
    element.remove()
  }
}
