import type { ReadonlySignal } from '@preact/signals'
import { t } from '../language/translate'

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

const texts = (): Record<SavedState, string> => ({
  loading: t('Loading…'),
  absent: t('Offline, not kept in this browser'),
  saved: t('Saved'),
  saving: t('Saving…'),
  offline: t('Offline'),
  waiting: t('Offline, changes are kept in this browser'),
  volatile: t('Offline, changes are lost when this page closes'),
  refused: t('Closed by the server'),
})

export const savedStateText = (state: SavedState): string => texts()[state]
