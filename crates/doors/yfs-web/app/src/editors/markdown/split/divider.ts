// The line between the sides of the split view: it is dragged, or moved by keys.

import { t } from '../../../language/translate'
import { isRightToLeft } from '../../../look/place'

const KEY = 'yfs:split-share'
/** The share of the first side, in percent. */
const [MIN, MIDDLE, MAX] = [20, 50, 80]
const STEP = 5

function keptShare(): number {
  try {
    const kept = Number(localStorage.getItem(KEY))
    return kept >= MIN && kept <= MAX ? kept : MIDDLE
  } catch {
    return MIDDLE
  }
}

/** Makes the divider of a container whose first side takes `--split-share`. */
export function makeDivider(container: HTMLElement): HTMLElement {
  const divider = document.createElement('div')
  divider.className = 'split-divider'
  divider.tabIndex = 0
  let share = MIDDLE
  const set = (wanted: number, isKept = true) => {
    share = Math.max(MIN, Math.min(MAX, Math.round(wanted)))
    container.style.setProperty('--split-share', `${share}%`)
    divider.setAttribute('aria-valuenow', String(share))
    if (!isKept) return
    try {
      localStorage.setItem(KEY, String(share))
    } catch {
      // Without storage it holds until the page closes.
    }
  }
  const attributes = {
    role: 'separator',
    'aria-orientation': 'vertical',
    'aria-label': t('Width of the rich text'),
    'aria-valuemin': MIN,
    'aria-valuemax': MAX,
  }
  for (const [name, value] of Object.entries(attributes)) divider.setAttribute(name, String(value))
  divider.addEventListener('keydown', (event) => {
    const step = isRightToLeft(container) ? -STEP : STEP
    const wanted = {
      ArrowLeft: share - step,
      ArrowRight: share + step,
      Home: MIN,
      End: MAX,
      Enter: MIDDLE,
    }[event.key]
    if (wanted === undefined) return
    event.preventDefault()
    set(wanted)
  })
  divider.addEventListener('pointerdown', (event) => {
    event.preventDefault()
    divider.focus()
    divider.setPointerCapture(event.pointerId)
  })
  divider.addEventListener('pointermove', (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return
    const { left, right, width } = container.getBoundingClientRect()
    const before = isRightToLeft(container) ? right - event.clientX : event.clientX - left
    set((before / width) * 100)
  })
  divider.addEventListener('dblclick', () => set(MIDDLE))
  set(keptShare(), false)
  return divider
}
