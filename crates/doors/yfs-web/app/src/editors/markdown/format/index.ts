// What makes writing comfortable: links, blocks, paste, the bar and the bubble. What a key needs is
// here at once; the rest is loaded when the document is shown.

import type { Plugin } from 'prosemirror-state'
import type { RichView } from '../rich_view'
import { blockKeys } from './block_keys'
import { endCaret } from './end_caret'
import { lateParts, type LateContext } from './late_parts'
import { typedLinks } from './links'
import { markEnds } from './mark_ends'
import { pasteFromPrograms } from './paste'
import { undoableRules } from './undo_steps'

/** Returns the plugins of writing; they come before those of the profile. */
export function formatPlugins(rich: RichView, context: LateContext): Plugin[] {
  const late = lateParts(rich, context)
  return [
    late.plugin,
    typedLinks(late.askForLink),
    blockKeys(),
    endCaret(),
    markEnds(),
    undoableRules(),
    pasteFromPrograms(rich),
  ]
}
