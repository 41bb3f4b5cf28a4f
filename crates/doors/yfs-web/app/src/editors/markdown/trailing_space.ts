// A space at the end of a block that was typed in goes when the caret leaves the block: markdown
// could keep it only as `&#32;`.

import type { Node, ResolvedPos } from 'prosemirror-model'
import { Plugin, PluginKey, type EditorState, type Transaction } from 'prosemirror-state'
import { ySyncPluginKey } from 'y-prosemirror'

const key = new PluginKey<boolean>('trailing-space')
const SPACES = /[ \t]+$/

const isShared = (tr: Transaction) => tr.getMeta(ySyncPluginKey) !== undefined

/** Returns the length of the spaces at the end of a block; 0 for code, where they count. */
function nSpaces(block: Node): number {
  const last = block.lastChild
  if (!block.isTextblock || block.type.spec.code || !last?.isText) return 0
  if (last.marks.some(({ type }) => type.spec.code)) return 0
  return SPACES.exec(last.text ?? '')?.[0].length ?? 0
}

const blockStart = ($place: ResolvedPos) => ($place.parent.isTextblock ? $place.start() : null)

/** Returns where the block starts now that the caret was in. */
function formerBlock(trs: readonly Transaction[], before: EditorState): number | null {
  const start = blockStart(before.selection.$head)
  return start === null ? null : trs.reduce((at, tr) => tr.mapping.map(at, -1), start)
}

export function trimTrailingSpace(): Plugin<boolean> {
  return new Plugin<boolean>({
    key,
    // Whether this person typed in the block since the caret is in it.
    state: {
      init: () => false,
      apply: (tr, isTyped, before, after) => {
        if (isShared(tr)) return isTyped
        const start = blockStart(before.selection.$head)
        const isSame =
          start !== null && tr.mapping.map(start, -1) === blockStart(after.selection.$head)
        return isSame ? isTyped || tr.docChanged : tr.docChanged && isTyped
      },
    },
    appendTransaction: (trs, before, after) => {
      if (trs.some(isShared)) return null
      const isTyped = key.getState(before) === true || trs.some((tr) => tr.docChanged)
      const start = formerBlock(trs, before)
      if (!isTyped || start === null || start === blockStart(after.selection.$head)) return null
      if (start > after.doc.content.size) return null
      const $start = after.doc.resolve(start)
      const length = $start.parentOffset === 0 ? nSpaces($start.parent) : 0
      return length === 0 ? null : after.tr.delete($start.end() - length, $start.end())
    },
  })
}
