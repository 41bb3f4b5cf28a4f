// The ids of headings, as Milkdown writes them, after local changes of headings.
//
// Milkdown's own plugin checks all headings after each change, also of others: that costs half
// of a keystroke in 200 KB, and each browser writes ids that another one has written already.

import { headingIdGenerator, headingSchema } from '@milkdown/kit/preset/commonmark'
import { $prose } from '@milkdown/kit/utils'
import { Plugin, PluginKey, type Transaction } from 'prosemirror-state'
import type { Node, NodeType } from 'prosemirror-model'
import type { EditorView } from 'prosemirror-view'
import { ySyncPluginKey } from 'y-prosemirror'

const key = new PluginKey<boolean>('heading-ids')

function hasHeading(doc: Node, from: number, to: number, heading: NodeType): boolean {
  let found = false
  const end = Math.min(to, doc.content.size)
  doc.nodesBetween(Math.min(from, end), end, (node) => {
    found ||= node.type === heading
    return !found && !node.isTextblock
  })
  return found
}

/** Reports whether a transaction changes headings, or what was one. */
function touchesHeadings(tr: Transaction, heading: NodeType): boolean {
  return tr.steps.some((step, n) => {
    const before = tr.docs[n]!
    const after = tr.docs[n + 1] ?? tr.doc
    let touches = false
    step.getMap().forEach((oldFrom, oldTo, newFrom, newTo) => {
      touches ||=
        hasHeading(before, oldFrom, oldTo, heading) || hasHeading(after, newFrom, newTo, heading)
    })
    return touches
  })
}

export const headingIds = $prose((ctx) => {
  const heading = headingSchema.type(ctx)
  const update = (view: EditorView) => {
    const idOf = ctx.get(headingIdGenerator.key)
    const counts = new Map<string, number>()
    // y-prosemirror writes these ids with the change before them, so undo takes both back.
    const tr = view.state.tr.setMeta(key, false)
    view.state.doc.descendants((node, position) => {
      if (node.type === heading && node.textContent.trim() !== '') {
        const plain = idOf(node)
        const count = (counts.get(plain) ?? 0) + 1
        counts.set(plain, count)
        const id = count === 1 ? plain : `${plain}-#${count}`
        if (node.attrs['id'] !== id) {
          tr.setNodeMarkup(position, undefined, { ...node.attrs, id })
        }
      }
      return !node.isTextblock
    })
    view.dispatch(tr)
  }
  return new Plugin<boolean>({
    key,
    // Whether local changes of headings wait for their ids.
    state: {
      init: () => false,
      apply: (tr, waits) => {
        const meta = tr.getMeta(key) as boolean | undefined
        if (meta !== undefined) return meta
        const isRemote = tr.getMeta(ySyncPluginKey) !== undefined
        return waits || (tr.docChanged && !isRemote && touchesHeadings(tr, heading))
      },
    },
    view: () => ({
      update: (view) => {
        if (key.getState(view.state) === true && !view.composing) update(view)
      },
    }),
  })
})
