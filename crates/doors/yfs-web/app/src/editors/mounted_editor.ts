import type { ReadonlySignal } from '@preact/signals'
import type { EditorWorkspace, OpenDocument, SavedState } from '../documents'
import type { SharedSelection } from './caret/carry_caret'
import type { HeldKey } from './caret/held_keys'

/** What an editor is mounted with. */
export interface MountOptions {
  workspace: EditorWorkspace
  id: string
  name: string
  container: HTMLElement
  /** Where an editor puts notices above the content. */
  notices: HTMLElement
  document: OpenDocument
  readOnly: boolean
  /** Destroys this editor and mounts the one that the content needs now. */
  remount: () => void
  /** Returns the present path of the file. */
  path: () => string
}

/** An editor in its container. */
export interface MountedEditor {
  /** Whether what was typed here is stored, if that is not a matter of the document. */
  savedState?: ReadonlySignal<SavedState>
  focus(): void
  reveal(line: number, column?: number): void
  /** The file has another name of the same category. */
  rename(name: string): void
  setReadOnly(readOnly: boolean): void
  /** Returns the selection of this editor, for one that shows the other root of the document. */
  selection?(): SharedSelection
  /** Selects what the editor before this one had selected, and types the keys that were held. */
  takeOver?(former: SharedSelection, keys: HeldKey[]): void
  destroy(): void
}
