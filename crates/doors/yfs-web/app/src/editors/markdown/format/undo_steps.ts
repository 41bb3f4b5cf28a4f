// What one Ctrl+Z takes back: an automatic change is a step of its own, so that the first one takes
// back what the editor did and leaves what the person typed.

import type { ResolvedPos } from 'prosemirror-model'
import { Plugin, Selection, type Transaction } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { yUndoPluginKey } from 'y-prosemirror'
import type * as Y from 'yjs'

/** Ends the present step of undo: what comes next is taken back alone. */
export function endUndoStep(view: EditorView): void {
  const state = yUndoPluginKey.getState(view.state) as { undoManager?: Y.UndoManager } | undefined
  state?.undoManager?.stopCapturing()
}

/** Dispatches a change that is a step of its own. */
export function dispatchAlone(view: EditorView, tr: Transaction): void {
  endUndoStep(view)
  view.dispatch(tr)
  endUndoStep(view)
}

/** Runs a handler and returns the transaction that it wanted to dispatch. */
function capture(view: EditorView, handle: () => unknown): [Transaction | null, boolean] {
  let captured: Transaction | null = null
  const { dispatch } = view
  view.dispatch = (tr) => {
    captured ??= tr
  }
  try {
    const isHandled = Boolean(handle())
    return [captured, isHandled]
  } finally {
    view.dispatch = dispatch
  }
}

/** A list that a rule makes has no blank lines between its items. */
function tightenItem(tr: Transaction, wasItem: boolean): void {
  const { $from } = tr.selection
  for (let depth = $from.depth; depth > 0 && !wasItem; depth--) {
    const { type, attrs } = $from.node(depth)
    if (type.name !== 'list_item' || attrs['spread'] !== true) continue
    tr.setNodeMarkup($from.before(depth), undefined, { ...attrs, spread: false })
    return
  }
}

/** Reports whether a place is in an item of a list. */
function isInItem($place: ResolvedPos): boolean {
  for (let depth = $place.depth; depth > 0; depth--) {
    if ($place.node(depth).type.name === 'list_item') return true
  }
  return false
}

/** Returns a transaction that takes back `typed` and makes the changes of `rule` instead. */
function afterTyping(view: EditorView, typed: Transaction, rule: Transaction): Transaction {
  const { tr } = view.state
  for (let n = typed.steps.length - 1; n >= 0; n--) {
    tr.step(typed.steps[n]!.invert(typed.docs[n]!))
  }
  for (const step of rule.steps) tr.step(step)
  const wasItem = isInItem(view.state.selection.$from)
  tr.setSelection(Selection.fromJSON(tr.doc, rule.selection.toJSON()))
  if (rule.storedMarksSet) tr.setStoredMarks(rule.storedMarks)
  tightenItem(tr, wasItem)
  return tr
}

/** Only these end a pattern that an input rule knows. */
const MAY_END_RULE = /[^\p{L}\p{N}]$/u

/** Makes what an input rule does a step of its own, after the text that it replaces. */
export function undoableRules(): Plugin {
  let isRunning = false
  return new Plugin({
    props: {
      handleTextInput(view, from, to, text, plain) {
        if (isRunning || view.composing || !MAY_END_RULE.test(text)) return false
        isRunning = true
        try {
          const [rule, isHandled] = capture(view, () =>
            view.someProp('handleTextInput', (handle) => handle(view, from, to, text, plain)),
          )
          if (rule === null) return isHandled
          const typed = view.state.tr.insertText(text, from, to)
          view.dispatch(typed)
          dispatchAlone(view, afterTyping(view, typed, rule))
          return true
        } finally {
          isRunning = false
        }
      },
    },
  })
}
