import type { ReadonlySignal } from '@preact/signals'

/**
 * The state of a document:
 * - `loading`: nothing has arrived yet;
 * - `saved`: the server has stored all changes;
 * - `saving`: connected, and some changes are not stored yet;
 * - `offline`: not connected, and no change waits;
 * - `waiting`: not connected, and changes wait in this browser;
 * - `refused`: the server has closed the document for good.
 */
export type SavedState = 'loading' | 'saved' | 'saving' | 'offline' | 'waiting' | 'refused'

export type SavedStateSignal = ReadonlySignal<SavedState>

const TEXTS: Record<SavedState, string> = {
  loading: 'Loading…',
  saved: 'Saved',
  saving: 'Saving…',
  offline: 'Offline',
  waiting: 'Offline, changes are kept in this browser',
  refused: 'Closed by the server',
}

export const savedStateText = (state: SavedState): string => TEXTS[state]
