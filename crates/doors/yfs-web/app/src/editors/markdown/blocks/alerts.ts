// Alerts as GitHub writes them: a quote that begins with `[!NOTE]`.

import { CircleAlert, Info, Lightbulb, MessageSquareWarning, TriangleAlert } from 'lucide'
import type { IconNode } from 'lucide'
import type { Node } from 'prosemirror-model'
import { TextSelection, type Command, type Selection } from 'prosemirror-state'
import { Decoration } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { makeIcon } from '../../../look/icon'
import type { BlockCommand } from '../rich_view'
import { leafText } from './inline_looks'

type AlertKind = 'note' | 'tip' | 'important' | 'warning' | 'caution'

const ICONS: Record<AlertKind, IconNode> = {
  note: Info,
  tip: Lightbulb,
  important: MessageSquareWarning,
  warning: TriangleAlert,
  caution: CircleAlert,
}

const MARKER = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:[\n\r]|$)/i

function titleOf(kind: AlertKind): string {
  return {
    note: t('Note'),
    tip: t('Tip'),
    important: t('Important'),
    warning: t('Warning'),
    caution: t('Caution'),
  }[kind]
}

function makeTitle(kind: AlertKind): HTMLElement {
  const title = document.createElement('span')
  title.className = 'alert-title'
  title.contentEditable = 'false'
  title.append(makeIcon(ICONS[kind]), titleOf(kind))
  return title
}

/** Returns the decorations of a quote if it is an alert. */
export function alertLooks(quote: Node, at: number, selection: Selection): Decoration[] {
  const first = quote.firstChild
  if (first?.isTextblock !== true) return []
  const start = first.textBetween(0, Math.min(24, first.content.size), '\ufffc', leafText)
  const match = MARKER.exec(start)
  if (match === null) return []
  const kind = match[1]!.toLowerCase() as AlertKind
  const [from, to] = [at + 2, at + 2 + match[0].length]
  const isOpen = selection.from < to && selection.to >= from
  const looks = [
    Decoration.node(at, at + quote.nodeSize, { class: `alert alert-${kind}` }),
    Decoration.widget(from, () => makeTitle(kind), { side: -1, key: `alert-${kind}` }),
  ]
  if (!isOpen) looks.push(Decoration.inline(from, to, { class: 'hidden-source' }))
  if (!isOpen && match[0].length === first.content.size) {
    looks.push(Decoration.node(at + 1, at + 1 + first.nodeSize, { class: 'has-no-line' }))
  }
  return looks
}

/** Makes the block with the caret a quote that is an alert. */
function wrapInAlert(kind: AlertKind): Command {
  return (state, dispatch) => {
    const { blockquote, paragraph } = state.schema.nodes
    const { $from } = state.selection
    if (blockquote === undefined || paragraph === undefined || $from.depth === 0) return false
    const marker = paragraph.create(null, state.schema.text(`[!${kind.toUpperCase()}]`))
    const text = paragraph.create(null, $from.parent.content)
    const quote = blockquote.create(null, [marker, text])
    const [from, to] = [$from.before(), $from.after()]
    const parent = $from.node(-1)
    if (!parent.canReplaceWith($from.index(-1), $from.indexAfter(-1), blockquote)) return false
    const tr = state.tr.replaceWith(from, to, quote)
    tr.setSelection(TextSelection.create(tr.doc, from + 2 + marker.nodeSize))
    dispatch?.(tr.scrollIntoView())
    return true
  }
}

/** Returns the alerts that the slash menu offers. */
export function alertBlocks(): BlockCommand[] {
  return (Object.keys(ICONS) as AlertKind[]).map((kind) => ({
    label: titleOf(kind),
    words: 'alert callout admonition',
    hint: `[!${kind.toUpperCase()}]`,
    run: wrapInAlert(kind),
    isEnabled: (view) => wrapInAlert(kind)(view.state),
  }))
}
