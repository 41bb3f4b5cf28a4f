// The cursors and selections of others in a text, and this person's own for them.

import { Annotation, RangeSet, type Extension, type Range } from '@codemirror/state'
import {
  Decoration,
  EditorView,
  ViewPlugin,
  WidgetType,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view'
import * as Y from 'yjs'
import { caretKey, makeCaretLabel } from '../../people/caret_label'
import type { TextBinding } from './text_binding'

/** What the presence of a person says; `documents/presence.ts` has checked it. */
interface PresentState {
  user?: { name: string; color: string; colorLight: string; agent?: boolean }
  cursor?: { anchor: unknown; head: unknown } | null
}

const UNKNOWN = { name: 'guest', color: '#5c6672', colorLight: '#5c667233' }

const theme = EditorView.baseTheme({
  '.cm-ySelectionCaret': {
    position: 'relative',
    borderLeft: '1px solid',
    borderRight: '1px solid',
    marginInline: '-1px',
    boxSizing: 'border-box',
  },
})

class CaretWidget extends WidgetType {
  constructor(
    private readonly user: NonNullable<PresentState['user']>,
    private readonly place: number,
  ) {
    super()
  }

  override eq(other: CaretWidget): boolean {
    const { name, color } = this.user
    return other.user.name === name && other.user.color === color && other.place === this.place
  }

  override toDOM(): HTMLElement {
    const caret = document.createElement('span')
    caret.className = 'cm-ySelectionCaret'
    caret.style.backgroundColor = this.user.color
    caret.style.borderColor = this.user.color
    caret.dataset['caretOf'] = caretKey(this.user)
    caret.append('\u2060', makeCaretLabel(this.user, 'cm-ySelectionInfo'), '\u2060')
    return caret
  }

  override get estimatedHeight(): number {
    return -1
  }

  override ignoreEvent(): boolean {
    return true
  }
}

const presenceChange = Annotation.define<true>()

const samePlace = (known: unknown, place: Y.RelativePosition) =>
  known != null && Y.compareRelativePositions(Y.createRelativePositionFromJSON(known), place)

class CursorView {
  decorations: DecorationSet = RangeSet.empty

  constructor(
    private readonly binding: TextBinding,
    private readonly view: EditorView,
  ) {
    binding.awareness.on('change', this.onPresence)
  }

  update(update: ViewUpdate): void {
    this.announce(update)
    this.decorations = Decoration.set(this.ranges(update.view), true)
  }

  destroy(): void {
    this.binding.awareness.off('change', this.onPresence)
  }

  private readonly onPresence = (changed: Record<'added' | 'updated' | 'removed', number[]>) => {
    const own = this.binding.awareness.clientID
    const { added, updated, removed } = changed
    if ([...added, ...updated, ...removed].some((client) => client !== own)) {
      this.view.dispatch({ annotations: presenceChange.of(true) })
    }
  }

  /** Says to the others where the selection of this person is, while the page has the focus. */
  private announce({ view, state }: ViewUpdate): void {
    const { awareness } = this.binding
    const own = awareness.getLocalState() as PresentState | null
    if (own === null || !view.hasFocus || !view.dom.ownerDocument.hasFocus()) return
    const anchor = this.binding.placeOf(state, state.selection.main.anchor)
    const head = this.binding.placeOf(state, state.selection.main.head)
    if (samePlace(own.cursor?.anchor, anchor) && samePlace(own.cursor?.head, head)) return
    awareness.setLocalStateField('cursor', { anchor, head })
  }

  private ranges(view: EditorView): Range<Decoration>[] {
    const { awareness } = this.binding
    const ranges: Range<Decoration>[] = []
    for (const [client, state] of awareness.getStates()) {
      const { user = UNKNOWN, cursor } = state as PresentState
      if (client === awareness.clientID || !cursor) continue
      const anchor = this.positionOf(view, cursor.anchor)
      const head = this.positionOf(view, cursor.head)
      if (anchor === null || head === null) continue
      this.select(ranges, view, anchor, head, user.colorLight)
      const widget = new CaretWidget(user, head)
      ranges.push(Decoration.widget({ side: head > anchor ? -1 : 1, widget }).range(head))
    }
    return ranges
  }

  private positionOf({ state }: EditorView, place: unknown): number | null {
    return this.binding.positionOf(state, Y.createRelativePositionFromJSON(place))
  }

  private select(
    ranges: Range<Decoration>[],
    { state }: EditorView,
    anchor: number,
    head: number,
    color: string,
  ): void {
    const [from, to] = anchor < head ? [anchor, head] : [head, anchor]
    const attributes = { style: `background-color: ${color}` }
    const [first, last] = [state.doc.lineAt(from), state.doc.lineAt(to)]
    const mark = Decoration.mark({ attributes, class: 'cm-ySelection' })
    if (from < Math.min(to, first.to)) ranges.push(mark.range(from, Math.min(to, first.to)))
    if (first.number === last.number) return
    if (last.from < to) ranges.push(mark.range(last.from, to))
    const line = Decoration.line({ attributes, class: 'cm-yLineSelection' })
    for (let n = first.number + 1; n < last.number; n++)
      ranges.push(line.range(state.doc.line(n).from))
  }
}

export function remoteCursors(binding: TextBinding): Extension {
  const plugin = ViewPlugin.define((view) => new CursorView(binding, view), {
    decorations: ({ decorations }) => decorations,
  })
  return [theme, plugin]
}
