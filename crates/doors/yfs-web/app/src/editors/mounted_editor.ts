import type { ReadonlySignal } from '@preact/signals'
import type { IconNode } from 'lucide'
import type { EditorView as RichView } from 'prosemirror-view'
import type { EditorWorkspace, OpenDocument, SavedState } from '../documents'
import type { SharedSelection } from './caret/carry_caret'
import type { HeldKey } from './caret/held_keys'
import type { SymbolKind } from './symbols/symbol_rules'

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

/** A heading of a document. */
export interface OutlineItem {
  /** The id of the heading, as links to it name it. */
  id: string
  level: number
  text: string
}

export interface TextCounts {
  words: number
  characters: number
  /** How long a person reads, in minutes. */
  minutes: number
}

/** A heading, or what code declares. */
export interface EditorSymbol {
  kind: SymbolKind
  name: string
  /** How many symbols are around it. */
  depth: number
  /** Moves the caret there. */
  go: () => void
}

export interface DocumentSymbols {
  /** In the order of the text. */
  symbols: EditorSymbol[]
  /** The index of the last one before the caret; -1 without one. */
  current: number
}

/** What a person can do in an editor by a menu or by the list of commands. */
export interface EditorAction {
  id: string
  label: string
  icon?: IconNode
  keys?: string
  /** Whether it holds now; only for what is switched. */
  isOn?: boolean
  run: () => void
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
  /** The view of rich text, beside which the source can be shown. */
  richView?: RichView
  /** The headings; read only while they are watched. */
  outline?: ReadonlySignal<OutlineItem[]>
  counts?: ReadonlySignal<TextCounts>
  /** Reads what the list of symbols offers. */
  symbols?(): Promise<DocumentSymbols>
  /** Moves the caret to a heading; reports whether it exists. */
  revealHeading?(id: string): boolean
  /** Returns what a person can do now. */
  actions?(): EditorAction[]
  destroy(): void
}
