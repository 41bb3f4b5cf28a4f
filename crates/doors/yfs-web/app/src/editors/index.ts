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
  /** Where the head of the page has a place for what the editor offers; by default above it. */
  head?: HTMLElement
  at?: { line: number; column?: number }
}

/** A way to show a file. */
export interface FileView {
  label: string
  isShown: boolean
  show(): void
}

export interface EditorHandle {
  /** Returns the ways to show the file; none if there is only one. */
  listViews(): FileView[]
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
  /** Moves to a heading by its slug, if the editor has headings. */
  revealHeading?(slug: string): void
}

/** Opens a file in a container, in the editor that its content needs. */
export function openEditor(file: OpenFile): EditorHandle {
  return new FileEditor(file)
}
