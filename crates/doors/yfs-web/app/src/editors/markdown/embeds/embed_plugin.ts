// Files that a document shows below the paragraph that names them. Nothing of it is stored.

import { Plugin, PluginKey, type EditorState } from 'prosemirror-state'
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view'
import type { EditorWorkspace } from '../../../documents'
import type { LinkTargets } from '../blocks/wiki_links'
import { embedIn, resolveEmbed, type EmbedTarget } from './embed_target'

const key = new PluginKey<DecorationSet>('embeds')

export interface EmbedContext {
  workspace: EditorWorkspace
  targets: LinkTargets
  path: () => string
}

/** Makes the place of a file; its view is loaded when it is there. */
function makeEmbed(target: EmbedTarget, { workspace }: EmbedContext): [HTMLElement, () => void] {
  const place = document.createElement('span')
  place.className = 'embed'
  place.contentEditable = 'false'
  let stop: (() => void) | null = () => {}
  void import('./embed_view').then(({ mountEmbed }) => {
    if (stop !== null) stop = mountEmbed(place, target, workspace)
  })
  const destroy = () => {
    stop?.()
    stop = null
  }
  return [place, destroy]
}

function widgetOf(at: number, target: EmbedTarget, context: EmbedContext): Decoration {
  const stops = new WeakMap<Node, () => void>()
  const name = 'problem' in target ? target.problem : `${target.kind} ${target.id} ${target.path}`
  const make = () => {
    const [place, stop] = makeEmbed(target, context)
    stops.set(place, stop)
    return place
  }
  return Decoration.widget(at, make, {
    key: `embed ${name}`,
    side: 1,
    ignoreSelection: true,
    stopEvent: () => true,
    destroy: (place) => stops.get(place)?.(),
  })
}

function build({ doc, selection }: EditorState, context: EmbedContext): DecorationSet {
  const all: Decoration[] = []
  doc.forEach((block, at) => {
    const embed = embedIn(block)
    if (embed === null) return
    const target = resolveEmbed(embed, context.path(), context.workspace, context.targets)
    if (target === null) return
    const [from, to] = [at + 1, at + block.nodeSize - 1]
    const isOpen = selection.from <= to && selection.to >= from
    if (embed.syntax === 'wiki' && !isOpen) {
      all.push(
        Decoration.inline(from, to, { class: 'hidden-source' }),
        Decoration.node(at, at + block.nodeSize, { class: 'has-no-line' }),
      )
    }
    all.push(widgetOf(to, target, context))
  })
  return all.length === 0 ? DecorationSet.empty : DecorationSet.create(doc, all)
}

export function embeds(context: EmbedContext): Plugin<DecorationSet> {
  const hasEmbeds = ({ doc }: EditorState) => {
    let has = false
    doc.forEach((block) => (has ||= embedIn(block) !== null))
    return has
  }
  const watch = (view: EditorView) => ({
    destroy: context.targets.onChange(() => {
      if (view.isDestroyed || !hasEmbeds(view.state)) return
      view.dispatch(view.state.tr.setMeta(key, true))
    }),
  })
  return new Plugin<DecorationSet>({
    key,
    state: {
      init: (_config, state) => build(state, context),
      apply: (tr, before, old, state) => {
        const hasMoved = before !== DecorationSet.empty && !old.selection.eq(state.selection)
        const isAsked = tr.getMeta(key) === true
        return tr.docChanged || hasMoved || isAsked ? build(state, context) : before
      },
    },
    props: { decorations: (state) => key.getState(state) },
    view: watch,
  })
}
