// Where boxes that stay in the window are put, in CSS pixels, and which way lines go.

/** The space between a box and the edges of the window. */
const EDGE = 8
/** The space between a box and what it belongs to. */
export const GAP = 8

/** Moves a fixed box to a place, as far as the window holds it. */
export function moveTo(box: HTMLElement, left: number, top: number): void {
  const { width, height } = box.getBoundingClientRect()
  box.style.left = `${Math.max(EDGE, Math.min(left, innerWidth - width - EDGE))}px`
  box.style.top = `${Math.max(EDGE, Math.min(top, innerHeight - height - EDGE))}px`
}

/** Moves a fixed box below an element, or above it if there is no space below. */
export function moveBeside(box: HTMLElement, anchor: Element): void {
  const { left, top, bottom } = anchor.getBoundingClientRect()
  const { height } = box.getBoundingClientRect()
  const isBelow = bottom + GAP + height < innerHeight || top - GAP - height < 0
  moveTo(box, left, isBelow ? bottom + GAP : top - height - GAP)
}

/** Reports whether the lines of an element go from the right to the left. */
export const isRightToLeft = (element: Element): boolean =>
  getComputedStyle(element).direction === 'rtl'
