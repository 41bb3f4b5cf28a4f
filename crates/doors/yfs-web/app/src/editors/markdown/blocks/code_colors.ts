// Colors of code as decorations: nothing of them is stored.

import type { Node } from 'prosemirror-model'
import { Plugin, PluginKey, type EditorState, type Transaction } from 'prosemirror-state'
import { Decoration, DecorationSet, type EditorView } from 'prosemirror-view'
import type { CodeColorizer, ColoredSpan } from './code_languages'

/** Longer code has no colors: a key would wait for them. */
const MAX_LENGTH = 50_000

const key = new PluginKey<DecorationSet>('code-colors')

export const codeLanguage = (node: Node): string => {
  const { language, params } = node.attrs as { language?: string; params?: string }
  return (language ?? params ?? '').trim().split(/\s/)[0] ?? ''
}

/** The colorizers that were asked for; null while one is loading, and for unknown languages. */
const colorizers = new Map<string, CodeColorizer | null>()
const known = new WeakMap<Node, ColoredSpan[]>()

function spansOf(node: Node): ColoredSpan[] {
  const colorize = colorizers.get(codeLanguage(node))
  if (!colorize || node.content.size > MAX_LENGTH) return []
  let spans = known.get(node)
  if (spans === undefined) known.set(node, (spans = colorize(node.textContent)))
  return spans
}

function decorate(node: Node, at: number): Decoration[] {
  return spansOf(node).map(({ from, to, classes }) =>
    Decoration.inline(at + 1 + from, at + 1 + to, { class: classes }),
  )
}

/** Returns the part of a document that transactions changed; null if none did. */
function changedPart({ mapping, doc }: Transaction): { from: number; to: number } | null {
  let [from, to] = [Infinity, -1]
  mapping.maps.forEach((map, n) => {
    map.forEach((_start, _end, start, end) => {
      const later = mapping.slice(n + 1)
      from = Math.min(from, later.map(start, -1))
      to = Math.max(to, later.map(end, 1))
    })
  })
  const clamp = (place: number) => Math.max(0, Math.min(doc.content.size, place))
  return to < 0 ? null : { from: clamp(from), to: clamp(to) }
}

function apply(tr: Transaction, before: DecorationSet): DecorationSet {
  const hasLoaded = tr.getMeta(key) === true
  const part = hasLoaded ? { from: 0, to: tr.doc.content.size } : changedPart(tr)
  if (part === null) return before
  let set = before.map(tr.mapping, tr.doc)
  tr.doc.nodesBetween(part.from, part.to, (node, at) => {
    if (node.type.spec.code !== true) return !node.isTextblock
    set = set.remove(set.find(at, at + node.nodeSize)).add(tr.doc, decorate(node, at))
    return false
  })
  return set
}

/** Loads the languages of a document that were not asked for yet. */
function loadLanguages(view: EditorView, state: EditorState): void {
  state.doc.descendants((node) => {
    if (node.type.spec.code !== true) return !node.isTextblock
    const name = codeLanguage(node)
    if (name === '' || colorizers.has(name)) return false
    colorizers.set(name, null)
    const load = async () => {
      const { loadColorizer } = await import('./code_languages')
      colorizers.set(name, await loadColorizer(name))
      if (!view.isDestroyed) view.dispatch(view.state.tr.setMeta(key, true))
    }
    // Code without colors is still code; the next document tries again.
    load().catch(() => colorizers.delete(name))
    return false
  })
}

export function codeColors(): Plugin<DecorationSet> {
  return new Plugin<DecorationSet>({
    key,
    state: {
      init: (_config, { doc }) => {
        const all: Decoration[] = []
        doc.descendants((node, at) => {
          if (node.type.spec.code === true) all.push(...decorate(node, at))
        })
        return DecorationSet.create(doc, all)
      },
      apply,
    },
    props: { decorations: (state) => key.getState(state) },
    view: (view) => {
      loadLanguages(view, view.state)
      return {
        update: ({ state }, before) => {
          if (before.doc !== state.doc) loadLanguages(view, state)
        },
      }
    },
  })
}
