// A space at the end of bold, italic or code leaves it, unless the person is just typing in it.

import { Plugin, PluginKey, TextSelection } from 'prosemirror-state'
import { ySyncPluginKey } from 'y-prosemirror'

const key = new PluginKey<boolean>('mark-ends')

export function markEnds(): Plugin<boolean> {
  return new Plugin<boolean>({
    key,
    // Whether the caret is where this person typed just now.
    state: {
      init: () => false,
      apply: (tr, isTyping) => {
        if (tr.getMeta(ySyncPluginKey) !== undefined) return isTyping
        if (tr.docChanged || tr.storedMarksSet) return true
        return tr.selectionSet ? false : isTyping
      },
    },
    props: {
      handleTextInput(view, from, to, text) {
        const { state } = view
        if (text !== ' ' || from !== to || key.getState(state) === true) return false
        if (!(state.selection instanceof TextSelection) || state.storedMarks !== null) return false
        const $from = state.doc.resolve(from)
        const ended = $from.marks().filter((mark) => !mark.isInSet($from.nodeAfter?.marks ?? []))
        if (ended.length === 0 || $from.nodeBefore?.isText !== true) return false
        const kept = $from.marks().filter((mark) => !ended.includes(mark))
        view.dispatch(state.tr.insert(from, state.schema.text(text, kept)).scrollIntoView())
        return true
      },
    },
  })
}
