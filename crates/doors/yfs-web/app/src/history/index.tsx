// The history of a file: who changed it when, what changed, and back to an earlier version.

import { render } from 'preact'
import { t } from '../language/translate'
import { HistoryPanel, type HistoryOptions } from './history_panel'
import './history.css'

export type { HistoryOptions } from './history_panel'

export function mountHistory(options: HistoryOptions): { destroy(): void } {
  const root = document.createElement('section')
  root.className = 'history'
  root.setAttribute('aria-label', t('History'))
  options.container.append(root)
  render(<HistoryPanel {...options} />, root)
  return {
    destroy: () => {
      render(null, root)
      root.remove()
    },
  }
}
