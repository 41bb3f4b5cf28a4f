// Brackets in colors by depth, without those in strings and comments. Only what is visible is read:
// a syntax tree knows how deep a place is. A language without one is counted from a place above.

import { language, StreamLanguage, syntaxTree } from '@codemirror/language'
import { Prec, RangeSetBuilder, type EditorState, type Extension } from '@codemirror/state'
import {
  Decoration,
  ViewPlugin,
  type DecorationSet,
  type EditorView,
  type ViewUpdate,
} from '@codemirror/view'
import type { Tree } from '@lezer/common'
import { bracketColors as setting } from '../../settings/settings'

const OPEN = '([{'
const CLOSE = ')]}'
const N_COLORS = 6
/** How far above a visible text without a tree brackets are counted. */
const REACH = 50_000
/** Within how many children of a node its own brackets are. */
const MAX_CHILDREN = 16

const MARKS = Array.from({ length: N_COLORS }, (_, n) =>
  Decoration.mark({ class: `bracket-color-${n + 1}` }),
)

/** 1 for a bracket that opens, -1 for one that closes, else 0. */
function stepOf(name: string): number {
  if (name.length !== 1) return 0
  return OPEN.includes(name) ? 1 : CLOSE.includes(name) ? -1 : 0
}

/** Counts brackets in their order. */
class DepthCounter {
  constructor(private depth: number) {}

  /** Returns the depth of a bracket. */
  count(step: number): number {
    if (step > 0) return this.depth++
    this.depth = Math.max(0, this.depth - 1)
    return this.depth
  }
}

type Visit = (at: number, depth: number) => void

/** Returns how many brackets of the nodes around a place are open there. */
function depthAt(tree: Tree, place: number): number {
  let depth = 0
  let node: ReturnType<Tree['resolveInner']> | null = tree.resolveInner(place, 1)
  for (; node !== null; node = node.parent) {
    if (node.from >= place) continue
    let child = node.firstChild
    for (let n = 0; child !== null && child.to <= place && n < MAX_CHILDREN; n++) {
      depth += stepOf(child.name)
      child = child.nextSibling
    }
  }
  return Math.max(0, depth)
}

function visitTree(tree: Tree, from: number, to: number, visit: Visit): void {
  const counter = new DepthCounter(depthAt(tree, from))
  tree.iterate({
    from,
    to,
    enter: ({ name, from: at }) => {
      const step = stepOf(name)
      if (step !== 0 && at >= from && at < to) visit(at, counter.count(step))
    },
  })
}

/** Visits the brackets of a text whose tree has only tokens. */
function visitTokens(state: EditorState, from: number, to: number, visit: Visit): void {
  const start = state.doc.lineAt(Math.max(0, from - REACH)).from
  const prose: { from: number; to: number }[] = []
  syntaxTree(state).iterate({
    from: start,
    to,
    enter: ({ name, from, to }) => {
      if (/comment|string|regexp/i.test(name)) prose.push({ from, to })
    },
  })
  const counter = new DepthCounter(0)
  let next = 0
  for (const { 0: bracket, index } of state.sliceDoc(start, to).matchAll(/[()[\]{}]/g)) {
    const at = start + index
    while (next < prose.length && prose[next]!.to <= at) next += 1
    if ((prose[next]?.from ?? Infinity) <= at) continue
    const depth = counter.count(stepOf(bracket))
    if (at >= from) visit(at, depth)
  }
}

function colorsOf({ state, visibleRanges }: EditorView): DecorationSet {
  const used = state.facet(language)
  if (used === null) return Decoration.none
  const builder = new RangeSetBuilder<Decoration>()
  const visit = (at: number, depth: number) => builder.add(at, at + 1, MARKS[depth % N_COLORS]!)
  for (const { from, to } of visibleRanges) {
    if (used instanceof StreamLanguage) visitTokens(state, from, to, visit)
    else visitTree(syntaxTree(state), from, to, visit)
  }
  return builder.finish()
}

class BracketColors {
  decorations: DecorationSet = Decoration.none
  private isOn = false
  private readonly stop: () => void

  constructor(view: EditorView) {
    let isFirst = true
    this.stop = setting.subscribe((value) => {
      this.isOn = value === 'on'
      this.decorations = this.isOn ? colorsOf(view) : Decoration.none
      if (!isFirst) view.dispatch({})
      isFirst = false
    })
  }

  update({ view, state, startState, docChanged, viewportChanged }: ViewUpdate): void {
    if (!this.isOn) return
    const isParsed = syntaxTree(startState) !== syntaxTree(state)
    if (docChanged || viewportChanged || isParsed) this.decorations = colorsOf(view)
  }

  destroy(): void {
    this.stop()
  }
}

/** Colors the brackets of a view while the setting says so. */
export const bracketColors = (): Extension =>
  Prec.high(ViewPlugin.fromClass(BracketColors, { decorations: ({ decorations }) => decorations }))
