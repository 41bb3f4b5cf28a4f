import type { ReadonlySignal } from '@preact/signals'

/**
 * The state of a document:
 * - `loading`: nothing has arrived yet;
 * - `absent`: not connected, and this browser has no copy;
 * - `saved`: the server has stored all changes;
 * - `saving`: some changes are stored nowhere yet, or only in this browser while connected;
 * - `offline`: not connected, and no change waits;
 * - `waiting`: not connected, and changes are stored in this browser;
 * - `volatile`: not connected, and this browser stores nothing, as in some private windows;
 * - `refused`: the server has closed the document for good.
 */
export type SavedState =
  'loading' | 'absent' | 'saved' | 'saving' | 'offline' | 'waiting' | 'volatile' | 'refused'

export type SavedStateSignal = ReadonlySignal<SavedState>

const TEXTS: Record<SavedState, string> = {
  loading: 'Loading…',
  absent: 'Offline, not kept in this browser',
  saved: 'Saved',
  saving: 'Saving…',
  offline: 'Offline',
  waiting: 'Offline, changes are kept in this browser',
  volatile: 'Offline, changes are lost when this page closes',
  refused: 'Closed by the server',
}

export const savedStateText = (state: SavedState): string => TEXTS[state]
