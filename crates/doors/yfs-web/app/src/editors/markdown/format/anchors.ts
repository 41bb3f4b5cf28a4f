// Places that stay at their text while others write.

import type { EditorView } from 'prosemirror-view'
import {
  absolutePositionToRelativePosition,
  relativePositionToAbsolutePosition,
  ySyncPluginKey,
} from 'y-prosemirror'
import type * as Y from 'yjs'

interface Binding {
  doc: Y.Doc
  type: Y.XmlFragment
  mapping: never
}

/** Returns a function that returns where a place is now. */
export function anchorPlace(view: EditorView, place: number): () => number {
  const bindingNow = () => (ySyncPluginKey.getState(view.state) as { binding: Binding }).binding
  const { type, mapping } = bindingNow()
  const anchor = absolutePositionToRelativePosition(place, type, mapping) as Y.RelativePosition
  return () => {
    const { doc, type, mapping } = bindingNow()
    return relativePositionToAbsolutePosition(doc, type, anchor, mapping) ?? place
  }
}
