import type { EditorWorkspace } from '../documents'
import './editors.css'
import { FileEditor } from './file_editor'

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
  /** Moves the cursor to a line of the file; numbers count from 1. */
  reveal(line: number, column?: number): void
}

/** Opens a file in a container, in the editor that its content needs. */
export function openEditor(file: OpenFile): EditorHandle {
  return new FileEditor(file)
}
