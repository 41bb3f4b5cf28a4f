// The labels of numbered lists, as Milkdown keeps them, after changes that can concern them.
//
// Milkdown's own plugin reads the whole document after each change: half of the JavaScript of a
// keystroke in 200 KB.

import { AddMarkStep, RemoveMarkStep, ReplaceStep, type Step } from '@milkdown/kit/prose/transform'
import type { Node } from 'prosemirror-model'
import { Plugin, type Transaction } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'

/** The start of the key of Milkdown's plugin. */
const KEY = 'MILKDOWN_KEEP_LIST_ORDER$'

/** Reports whether a step changes only what is inside one block of text. */
function isInline(step: Step, before: Node): boolean {
  if (step instanceof AddMarkStep || step instanceof RemoveMarkStep) return true
  if (!(step instanceof ReplaceStep)) return false
  const { from, to, slice } = step
  if (slice.openStart > 0 || slice.openEnd > 0) return false
  const $from = before.resolve(from)
  if (!$from.parent.isTextblock || to > $from.end()) return false
  let hasBlock = false
  slice.content.forEach((node) => {
    hasBlock ||= !node.isInline
  })
  return !hasBlock
}

function changesBlocks(transactions: readonly Transaction[]): boolean {
  return transactions.some((tr) => tr.steps.some((step, n) => !isInline(step, tr.docs[n]!)))
}

/** Lets Milkdown's plugin see only changes of more than text and marks inside a block. */
export function limitListOrder(view: EditorView): void {
  const plugins = view.state.plugins.map((plugin) => {
    const { key } = plugin as unknown as { key: string }
    const { appendTransaction } = plugin.spec
    if (!key.startsWith(KEY) || appendTransaction === undefined) return plugin
    return new Plugin({
      ...plugin.spec,
      appendTransaction: (transactions, before, after) =>
        changesBlocks(transactions)
          ? appendTransaction.call(plugin, transactions, before, after)
          : null,
    })
  })
  view.updateState(view.state.reconfigure({ plugins }))
}
