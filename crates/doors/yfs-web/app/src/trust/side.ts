// The history of a file and the activity of the workspace stand in the same place: one at a time.

export type SideName = 'history' | 'activity'

const EVENT = 'yfs-side'

/** Says that a panel takes the place, so that the other one closes. */
export function takeSide(name: SideName): void {
  dispatchEvent(new CustomEvent<SideName>(EVENT, { detail: name }))
}

/** Calls `close` when the other panel takes the place, until the returned function is called. */
export function onSideTaken(name: SideName, close: () => void): () => void {
  const taken = (event: Event) => {
    if ((event as CustomEvent<SideName>).detail !== name) close()
  }
  addEventListener(EVENT, taken)
  return () => removeEventListener(EVENT, taken)
}
