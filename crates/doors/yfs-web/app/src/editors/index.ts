import type { ReadonlySignal } from '@preact/signals'
import type { EditorWorkspace } from '../documents'
import './editors.css'
import { FileEditor } from './file_editor'
import type { EditorAction, MountedEditor } from './mounted_editor'

export type { EditorAction, MountedEditor, OutlineItem, TextCounts } from './mounted_editor'

export interface OpenFile {
  id: string
  path: string
  workspace: EditorWorkspace & { pathOf?(id: string): string | null }
  container: HTMLElement
  at?: { line: number; column?: number }
}

export interface EditorHandle {
  focus(): void
  destroy(): void
  /** Shows or hides the versions of the file. */
  toggleHistory(): void
  /** Shows or hides the headings of the document. */
  toggleOutline(): void
  /** Returns what a person can do in the file now. */
  actions(): EditorAction[]
  /** The editor that is shown, with its outline and counts. */
  readonly shown: ReadonlySignal<MountedEditor | null>
  /** Moves the cursor to a line of the file; numbers count from 1. */
  reveal(line: number, column?: number): void
}

/** Opens a file in a container, in the editor that its content needs. */
export function openEditor(file: OpenFile): EditorHandle {
  return new FileEditor(file)
}
