// Binds a CodeMirror view to a `Y.Text`, in which line ends are what they are in the file.

import { EditorSelection, type EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap, ViewPlugin, type ViewUpdate } from '@codemirror/view'
import type { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { LineEnds } from './line_ends'
import { editorChanges, lineEnds, sharedEnds, sharedString, writeChanges } from './text_changes'
import { remoteCursors } from './text_cursors'

/** What a view is bound to. It is also the origin of the transactions that the view makes. */
export class TextBinding {
  constructor(
    readonly text: Y.Text,
    readonly awareness: Awareness,
    readonly undoManager: Y.UndoManager,
  ) {}

  /** Returns the document of the view and the extensions that keep it and the text equal. */
  open(): { doc: string; extensions: Extension } {
    const doc = sharedString(this.text)
    const extensions = [
      lineEnds.init(() => LineEnds.of(doc)),
      ViewPlugin.define((view) => new BoundView(this, view)),
      remoteCursors(this),
      this.undoKeys(),
    ]
    return { doc, extensions }
  }

  /** Returns the place in the text of a position in the editor. */
  placeOf(state: EditorState, position: number, assoc = 0): Y.RelativePosition {
    const offset = state.field(lineEnds).offsetOf(state.doc, position)
    return Y.createRelativePositionFromTypeIndex(this.text, offset, assoc)
  }

  /** Returns the position in the editor of a place; null if it is not in the text. */
  positionOf(state: EditorState, place: Y.RelativePosition): number | null {
    const found = Y.createAbsolutePositionFromRelativePosition(place, this.text.doc!)
    if (found === null || found.type !== this.text) return null
    return state.field(lineEnds).positionOf(state.doc, found.index).position
  }

  private undoKeys(): Extension {
    const undo = () => (this.undoManager.undo(), true)
    const redo = () => (this.undoManager.redo(), true)
    return [
      keymap.of([
        { key: 'Mod-z', run: undo, preventDefault: true },
        { key: 'Mod-y', mac: 'Mod-Shift-z', run: redo, preventDefault: true },
        { key: 'Mod-Shift-z', run: redo, preventDefault: true },
      ]),
      EditorView.domEventHandlers({
        beforeinput: ({ inputType }) => {
          if (inputType === 'historyUndo') return undo()
          return inputType === 'historyRedo' && redo()
        },
      }),
    ]
  }
}

interface StackItemEvent {
  stackItem: { meta: Map<unknown, unknown> }
  changedParentTypes: Map<unknown, unknown>
}

/** The ends of a selection, as places in the text. */
type SelectedPlaces = [Y.RelativePosition, Y.RelativePosition]

/** What is undone alone, however soon it followed another change. */
const STEPS = ['revert', 'input.replace']

class BoundView {
  /** The selection before the change that is being written: undo goes back to it. */
  private selectedBefore: SelectedPlaces | null = null

  constructor(
    private readonly binding: TextBinding,
    private readonly view: EditorView,
  ) {
    const { text, undoManager } = binding
    text.observe(this.onShared)
    undoManager.addTrackedOrigin(binding)
    undoManager.on('stack-item-added', this.onStackItem)
    undoManager.on('stack-item-popped', this.onUndone)
  }

  update({ transactions }: ViewUpdate): void {
    const { text, undoManager } = this.binding
    for (const tr of transactions) {
      if (!tr.docChanged || tr.annotation(sharedEnds) !== undefined) continue
      this.selectedBefore = this.placesOf(tr.startState)
      const isStep = STEPS.some((event) => tr.isUserEvent(event))
      if (isStep) undoManager.stopCapturing()
      text.doc!.transact(() => writeChanges(text, tr), this.binding)
      if (isStep) undoManager.stopCapturing()
    }
  }

  destroy(): void {
    const { text, undoManager } = this.binding
    text.unobserve(this.onShared)
    undoManager.removeTrackedOrigin(this.binding)
    undoManager.off('stack-item-added', this.onStackItem)
    undoManager.off('stack-item-popped', this.onUndone)
  }

  private readonly onShared = (event: Y.YTextEvent, { origin }: Y.Transaction) => {
    if (origin === this.binding) return
    const { state } = this.view
    const { changes, ends } = editorChanges(event.delta, state.field(lineEnds), state.doc)
    if (changes.length === 0) return
    this.view.dispatch({ changes, annotations: sharedEnds.of(ends), filter: false })
  }

  private readonly onStackItem = ({ stackItem, changedParentTypes }: StackItemEvent) => {
    if (!changedParentTypes.has(this.binding.text) || stackItem.meta.has('selection')) return
    stackItem.meta.set('selection', this.selectedBefore)
  }

  private readonly onUndone = ({ stackItem }: StackItemEvent) => {
    const places = stackItem.meta.get('selection') as SelectedPlaces | null | undefined
    const selection = places ? this.selectionOf(places) : null
    if (selection === null) return
    this.view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.main) })
  }

  private placesOf(state: EditorState): SelectedPlaces {
    const { anchor, head } = state.selection.main
    return [this.binding.placeOf(state, anchor), this.binding.placeOf(state, head)]
  }

  private selectionOf([anchor, head]: SelectedPlaces): EditorSelection | null {
    const { state } = this.view
    const from = this.binding.positionOf(state, anchor)
    const to = this.binding.positionOf(state, head)
    return from === null || to === null ? null : EditorSelection.single(from, to)
  }
}
