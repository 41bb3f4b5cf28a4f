// What is written in a text and shown as what it means, while the caret is elsewhere: alerts,
// formulas, wiki links. The text stays in the document as it is.

import type { Node } from 'prosemirror-model'
import { Plugin, PluginKey, type EditorState } from 'prosemirror-state'
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view'
import { alertLooks } from './alerts'
import { findFormulas, formulaLooks } from './formulas'
import { findWikiLinks, wikiLinkLooks, type LinkTargets } from './wiki_links'
import './inline_looks.css'

/** A piece of the text of a block; offsets count from the start of its content. */
export interface TextMatch {
  kind: 'formula' | 'display' | 'wiki'
  from: number
  to: number
  /** What is shown: a formula, or the name of a page. */
  text: string
  /** Where the label of a wiki link begins. */
  label: number
}

/** What decorations are made of: a place in the document, and whether its source is shown. */
export interface LookPlace {
  from: number
  to: number
  isOpen: boolean
}

const key = new PluginKey<DecorationSet>('inline-looks')
const NOTHING: TextMatch[] = []
const known = new WeakMap<Node, TextMatch[]>()

/** Stands for a line end and, as a private character, for other things in a text. */
export const leafText = ({ type, attrs }: Node): string =>
  type.name === 'hardbreak' || type.name === 'hard_break'
    ? attrs['isInline'] === true
      ? '\n'
      : '\r'
    : '\ufffc'

function matchesOf(block: Node): TextMatch[] {
  let matches = known.get(block)
  if (matches !== undefined) return matches
  const text = block.textBetween(0, block.content.size, '\ufffc', leafText)
  const candidates = [
    ...(text.includes('$') ? findFormulas(text, block) : []),
    ...(text.includes('[[') ? findWikiLinks(text) : []),
  ]
  const isCode = ({ from, to }: TextMatch) => {
    let found = false
    block.nodesBetween(from, to, ({ marks }) => {
      found ||= marks.some(({ type }) => type.spec.code === true || /code/i.test(type.name))
    })
    return found
  }
  matches = candidates.length === 0 ? NOTHING : candidates.filter((match) => !isCode(match))
  known.set(block, matches)
  return matches
}

function build(state: EditorState, targets: LinkTargets): DecorationSet {
  const { doc, selection } = state
  const all: Decoration[] = []
  doc.descendants((node, at) => {
    if (node.type.name === 'blockquote') all.push(...alertLooks(node, at, selection))
    if (!node.isTextblock) return true
    if (node.type.spec.code === true) return false
    for (const match of matchesOf(node)) {
      const [from, to] = [at + 1 + match.from, at + 1 + match.to]
      const isOpen = selection.from <= to && selection.to >= from
      const place = { from, to, isOpen }
      all.push(
        ...(match.kind === 'wiki'
          ? wikiLinkLooks(match, place, targets)
          : formulaLooks(match, place)),
      )
    }
    return false
  })
  return all.length === 0 ? DecorationSet.empty : DecorationSet.create(doc, all)
}

export function inlineLooks(targets: LinkTargets): Plugin<DecorationSet> {
  const watch = (view: EditorView) => {
    const stop = targets.onChange(() => {
      if (!view.isDestroyed) view.dispatch(view.state.tr.setMeta(key, true))
    })
    return { destroy: stop }
  }
  return new Plugin<DecorationSet>({
    key,
    state: {
      init: (_config, state) => build(state, targets),
      apply: (tr, before, old, state) => {
        const hasMoved = before !== DecorationSet.empty && !old.selection.eq(state.selection)
        const isAsked = tr.getMeta(key) === true && before !== DecorationSet.empty
        return tr.docChanged || hasMoved || isAsked ? build(state, targets) : before
      },
    },
    props: { decorations: (state) => key.getState(state) },
    view: watch,
  })
}
