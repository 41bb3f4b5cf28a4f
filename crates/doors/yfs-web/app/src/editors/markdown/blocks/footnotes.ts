// Footnotes: a reference shows its note, and leads to it; a note leads back.

import { CornerLeftUp } from 'lucide'
import { keydownHandler } from 'prosemirror-keymap'
import { DOMSerializer, type Node, type Schema } from 'prosemirror-model'
import { NodeSelection, Plugin } from 'prosemirror-state'
import type { EditorView, NodeView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { makeIcon } from '../../../look/icon'
import { moveBeside } from '../../../look/place'
import { dispatchAlone } from '../format/undo_steps'
import { goTo, insertFootnote, labelOf, notePlace, referencePlaces } from './footnote_marks'
import './footnotes.css'

/** How long the note stays when the pointer has left the reference, in milliseconds. */
const LEAVE_MS = 250
/** A longer note is shown in part, in positions of the document. */
const MAX_SHOWN = 2000
const NOTE_ID = 'footnote-note'

/** The note of the reference at the pointer, the focus or the caret. */
class NotePopup {
  private readonly box = document.createElement('div')
  private timer: ReturnType<typeof setTimeout> | undefined
  private anchor: HTMLElement | null = null

  constructor() {
    this.box.className = 'footnote-note'
    this.box.id = NOTE_ID
    this.box.setAttribute('role', 'tooltip')
    this.box.hidden = true
    this.box.addEventListener('mouseenter', () => clearTimeout(this.timer))
    this.box.addEventListener('mouseleave', () => this.hideSoon())
    document.body.append(this.box)
    document.addEventListener('keydown', this.onKeyDown, true)
    addEventListener('scroll', this.onScroll, { passive: true, capture: true })
  }

  show(anchor: HTMLElement, view: EditorView, label: string): void {
    clearTimeout(this.timer)
    if (this.anchor !== anchor) this.hide()
    this.anchor = anchor
    this.box.replaceChildren(contentOf(view.state.doc, label))
    this.box.hidden = false
    anchor.setAttribute('aria-describedby', NOTE_ID)
    moveBeside(this.box, anchor)
  }

  hideSoon(): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.hide(), LEAVE_MS)
  }

  hide(): void {
    clearTimeout(this.timer)
    this.anchor?.removeAttribute('aria-describedby')
    this.anchor = null
    this.box.hidden = true
  }

  destroy(): void {
    this.hide()
    this.box.remove()
    document.removeEventListener('keydown', this.onKeyDown, true)
    removeEventListener('scroll', this.onScroll, true)
  }

  private readonly onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'Escape') this.hide()
  }

  private readonly onScroll = ({ target }: Event) => {
    if (target !== this.box) this.hide()
  }
}

/** Returns what a note says, without what a person could enter or load. */
function contentOf(doc: Node, label: string): HTMLElement {
  const shown = document.createElement('div')
  const at = notePlace(doc, label)
  const note = at === null ? null : doc.nodeAt(at)
  if (note === null || note.textContent.trim() === '') {
    shown.textContent =
      note === null ? t('There is no note {label}.', { label }) : t('The note is empty.')
    return shown
  }
  const part = note.content.cut(0, Math.min(note.content.size, MAX_SHOWN))
  shown.append(DOMSerializer.fromSchema(doc.type.schema).serializeFragment(part))
  for (const image of shown.querySelectorAll('img')) image.replaceWith(image.alt)
  for (const link of shown.querySelectorAll('a')) link.replaceWith(...link.childNodes)
  for (const named of shown.querySelectorAll('[id]')) named.removeAttribute('id')
  return shown
}

/** Which reference led to a note last, by the label: the note leads back to it. */
type Origins = Map<string, number>

class ReferenceView implements NodeView {
  readonly dom = document.createElement('sup')
  private readonly button = document.createElement('button')

  constructor(
    private node: Node,
    private readonly view: EditorView,
    private readonly position: () => number | undefined,
    private readonly popup: NotePopup,
    private readonly origins: Origins,
  ) {
    this.dom.className = 'footnote-reference'
    this.button.type = 'button'
    this.dom.append(this.button)
    this.dom.contentEditable = 'false'
    const show = () => popup.show(this.button, view, labelOf(this.node))
    this.button.addEventListener('mouseenter', show)
    this.button.addEventListener('focus', show)
    this.button.addEventListener('mouseleave', () => popup.hideSoon())
    this.button.addEventListener('blur', () => popup.hideSoon())
    this.button.addEventListener('click', () => this.follow())
    this.render()
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type) return false
    this.node = node
    this.render()
    return true
  }

  selectNode(): void {
    this.dom.classList.add('ProseMirror-selectednode')
    this.popup.show(this.button, this.view, labelOf(this.node))
  }

  deselectNode(): void {
    this.dom.classList.remove('ProseMirror-selectednode')
    this.popup.hide()
  }

  stopEvent({ type }: Event): boolean {
    return !/^(drag|drop|copy|cut|paste)/.test(type)
  }

  ignoreMutation(): boolean {
    return true
  }

  destroy(): void {
    this.popup.hide()
  }

  follow(): void {
    const label = labelOf(this.node)
    const { doc } = this.view.state
    const place = notePlace(doc, label)
    if (place === null) return
    const own = this.position()
    this.origins.set(label, Math.max(0, referencePlaces(doc, label).indexOf(own ?? -1)))
    this.popup.hide()
    goTo(this.view, place + 1)
  }

  private render(): void {
    const label = labelOf(this.node)
    this.button.textContent = label
    this.button.setAttribute('aria-label', t('Footnote {label}', { label }))
  }
}

class NoteView implements NodeView {
  readonly dom = document.createElement('div')
  readonly contentDOM = document.createElement('div')
  private readonly head = document.createElement('div')

  constructor(
    private node: Node,
    private readonly view: EditorView,
    private readonly origins: Origins,
  ) {
    this.dom.className = 'footnote'
    this.dom.setAttribute('role', 'doc-footnote')
    this.head.className = 'footnote-head'
    this.head.contentEditable = 'false'
    this.dom.append(this.head, this.contentDOM)
    this.render()
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type) return false
    const isSame = labelOf(node) === labelOf(this.node)
    this.node = node
    if (!isSame) this.render()
    return true
  }

  stopEvent({ target }: Event): boolean {
    return target instanceof globalThis.Node && this.head.contains(target)
  }

  ignoreMutation({ target }: { target: globalThis.Node }): boolean {
    return !this.contentDOM.contains(target)
  }

  private render(): void {
    const label = labelOf(this.node)
    const back = document.createElement('button')
    back.type = 'button'
    back.ariaLabel = back.title = t('Back to the text of footnote {label}', { label })
    back.append(makeIcon(CornerLeftUp))
    back.addEventListener('click', () => {
      const places = referencePlaces(this.view.state.doc, label)
      const place = places[this.origins.get(label) ?? 0] ?? places[0]
      if (place !== undefined) goTo(this.view, place + 1)
    })
    this.head.replaceChildren(`${label}.`, back)
  }
}

/** Shows the footnotes of a schema that has them. */
export function footnotes(schema: Schema): Plugin[] {
  if (schema.nodes['footnote_reference'] === undefined) return []
  const origins: Origins = new Map()
  const views = new WeakMap<globalThis.Node, ReferenceView>()
  let popup: NotePopup | null = null
  const insert = keydownHandler({
    'Mod-Alt-f': (state, _dispatch, view) => {
      const isPossible = view?.editable === true && insertFootnote(state)
      if (isPossible) insertFootnote(state, (tr) => dispatchAlone(view, tr))
      return isPossible
    },
  })
  const plugin = new Plugin({
    view: () => ({
      destroy: () => {
        popup?.destroy()
        popup = null
      },
    }),
    props: {
      nodeViews: {
        footnote_reference: (node, view, position) => {
          const made = new ReferenceView(node, view, position, (popup ??= new NotePopup()), origins)
          views.set(made.dom, made)
          return made
        },
        footnote_definition: (node, view) => new NoteView(node, view, origins),
      },
      handleKeyDown: (view, event) => {
        const { selection } = view.state
        const isReference =
          selection instanceof NodeSelection && selection.node.type.name === 'footnote_reference'
        if (!isReference || event.key !== 'Enter') return insert(view, event)
        const dom = view.nodeDOM(selection.from)
        if (dom !== null) views.get(dom)?.follow()
        return true
      },
    },
  })
  return [plugin]
}
