// What floats beside the text: the bubbles of a selection and of a link, and the field of a link.

import type { ReadonlySignal } from '@preact/signals'
import { render, type ComponentChild } from 'preact'
import { TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { GAP, moveTo } from '../../../look/place'
import { openHref } from '../rich_clicks'
import { blockActions, markActions } from './actions'
import { anchorPlace } from './anchors'
import { FormatBar } from './bar'
import { LinkBubble, LinkField } from './link_field'
import { linkAround, type LinkRange } from './links'
import { namesOf } from './schema_names'
import { dispatchAlone } from './undo_steps'

const HIGHLIGHT = 'link-pending'

export interface PopupContext {
  path: () => string
  report: (message: string) => void
  /** The id of the file. */
  id: string
}

/** Returns the link that Ctrl+K concerns: the one at the selection, or else the selected text. */
function rangeForLink(view: EditorView): LinkRange {
  const { $from, from, to, empty } = view.state.selection
  const around = linkAround($from)
  if (around !== null && (empty || (around.from <= from && to <= around.to))) return around
  return { from, to, href: '' }
}

export class Popups {
  private readonly host = document.createElement('div')
  private isPointing = false
  private isField = false
  /** The link whose bubble was closed by Escape. */
  private closedAt: number | null = null
  private shown: 'selection' | 'link' | null = null
  private place: () => [number, number] = () => [0, 0]

  constructor(
    private readonly view: EditorView,
    private readonly scroller: HTMLElement,
    private readonly format: ReadonlySignal<string[]>,
    private readonly context: PopupContext,
  ) {
    this.host.className = 'format-popup'
    this.host.hidden = true
    document.body.append(this.host)
    view.dom.addEventListener('pointerdown', this.onPointerDown)
    window.addEventListener('pointerup', this.onPointerUp)
    view.dom.addEventListener('blur', this.onBlur)
    view.dom.addEventListener('focus', this.onFocus)
    scroller.addEventListener('scroll', this.onScroll, { passive: true })
  }

  /** After a transaction. */
  update(isChanged: boolean): void {
    if (this.isField) return
    const { selection } = this.view.state
    if (this.closedAt !== null && this.closedAt !== selection.from) this.closedAt = null
    const isText = selection instanceof TextSelection && this.view.hasFocus()
    if (!isText || this.isPointing || this.closedAt !== null) return this.hide()
    if (!selection.empty) return this.showSelection()
    const link = isChanged ? null : linkAround(selection.$from)
    if (link === null) this.hide()
    else this.showLink(link)
  }

  /** Closes what is open; reports whether anything was. */
  close(): boolean {
    if (this.host.hidden) return false
    this.closedAt = this.view.state.selection.from
    this.isField = false
    this.hide()
    return true
  }

  /** Opens the field for the link at the selection. */
  askForLink(): void {
    const { view } = this
    const { from, to, href } = rangeForLink(view)
    const $from = view.state.doc.resolve(from)
    if (!$from.parent.isTextblock || $from.parent.type.spec.code) return
    const isOneBlock = $from.sameParent(view.state.doc.resolve(to))
    const text = isOneBlock ? view.state.doc.textBetween(from, to) : ''
    const [start, end] = [anchorPlace(view, from), anchorPlace(view, to)]
    const close = () => {
      this.isField = false
      this.hide()
      view.focus()
    }
    const apply = (entered: string, target: string) => {
      const words = isOneBlock && entered !== text ? entered : null
      setLink(view, start(), end(), words, target)
      close()
      this.closedAt = view.state.selection.from
    }
    const remove = () => {
      dispatchAlone(view, view.state.tr.removeMark(start(), end(), namesOf(view.state.schema).link))
      close()
    }
    this.isField = true
    this.highlight(from, to)
    this.show(
      <LinkField
        key={`${from}-${to}`}
        text={text}
        href={href}
        hasText={isOneBlock}
        onApply={apply}
        onRemove={href === '' ? null : remove}
        onOpen={href === '' ? null : () => this.open(href)}
        onClose={close}
      />,
      () => [from, to],
    )
    this.shown = null
    this.host.querySelector<HTMLInputElement>('input[dir="ltr"]')?.focus()
  }

  /** Moves the focus into the bubble; reports whether it is shown. */
  focus(): boolean {
    const button = this.host.querySelector<HTMLElement>('button')
    if (this.host.hidden || button === null) return false
    button.focus()
    return true
  }

  destroy(): void {
    render(null, this.host)
    this.host.remove()
    window.removeEventListener('pointerup', this.onPointerUp)
    this.scroller.removeEventListener('scroll', this.onScroll)
  }

  private showSelection(): void {
    const { state } = this.view
    const { $from, from, to } = state.selection
    // A click beside the end of a line can select the end of the line alone.
    const isNothing = to - from < 8 && state.doc.textBetween(from, to).trim() === ''
    const isUseful = this.view.editable && !$from.parent.type.spec.code && !isNothing
    if (!isUseful || matchMedia('(pointer: coarse)').matches) return this.hide()
    this.place = () => [from, to]
    if (this.shown === 'selection') return this.position()
    this.shown = 'selection'
    this.show(
      <FormatBar
        label={t('Format of the selection')}
        marks={markActions(this.view, () => this.askForLink())}
        blocks={blockActions(this.view)}
        shownBlocks={[]}
        format={this.format}
        onLeave={() => this.view.focus()}
      />,
      this.place,
    )
  }

  private showLink(link: LinkRange): void {
    const { view } = this
    const { link: type } = namesOf(view.state.schema)
    this.shown = 'link'
    this.show(
      <LinkBubble
        href={link.href}
        isEditable={view.editable}
        onOpen={() => this.open(link.href)}
        onCopy={() => void this.copy(link.href)}
        onEdit={() => this.askForLink()}
        onRemove={() => {
          const now = linkAround(view.state.selection.$from)
          if (now !== null) dispatchAlone(view, view.state.tr.removeMark(now.from, now.to, type))
        }}
      />,
      () => [link.from, link.to],
    )
  }

  private open(href: string): void {
    openHref(this.view, href, this.context.path())
  }

  private async copy(href: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(href)
      this.context.report(t('The address was copied.'))
    } catch {
      this.context.report(t('The browser did not allow to copy.'))
    }
  }

  private show(content: ComponentChild, place: () => [number, number]): void {
    this.place = place
    render(content, this.host)
    this.host.hidden = false
    this.position()
  }

  /** Shows what the field is about: the browser hides a selection without the focus. */
  private highlight(from: number, to: number): void {
    const range = new Range()
    const [start, end] = [this.view.domAtPos(from), this.view.domAtPos(to)]
    range.setStart(start.node, start.offset)
    range.setEnd(end.node, end.offset)
    CSS.highlights?.set(HIGHLIGHT, new Highlight(range))
  }

  private hide(): void {
    if (this.host.hidden) return
    CSS.highlights?.delete(HIGHLIGHT)
    this.shown = null
    this.host.hidden = true
    render(null, this.host)
  }

  /** Puts the popup above its text, or below if there is no space. */
  private position(): void {
    const size = this.view.state.doc.content.size
    const [from, to] = this.place().map((place) => Math.min(place, size)) as [number, number]
    const first = this.view.coordsAtPos(from)
    const last = this.view.coordsAtPos(to, -1)
    const { width, height } = this.host.getBoundingClientRect()
    const isBelow = this.isField || this.shown === 'link' || first.top - height - GAP < GAP
    const top = isBelow ? last.bottom + GAP : first.top - height - GAP
    const left = this.shown === 'selection' ? (first.left + last.left - width) / 2 : first.left
    moveTo(this.host, left, top)
  }

  private readonly onPointerDown = () => {
    this.isPointing = true
    if (!this.isField) this.hide()
  }

  private readonly onPointerUp = () => {
    if (!this.isPointing) return
    this.isPointing = false
    // The editor reads the selection after this event.
    setTimeout(() => this.update(false), 0)
  }

  private readonly onFocus = () => setTimeout(() => this.update(false), 0)

  private readonly onBlur = ({ relatedTarget }: FocusEvent) => {
    const isOurs = relatedTarget instanceof Node && this.host.contains(relatedTarget)
    if (!isOurs && !this.isField) setTimeout(() => this.view.hasFocus() || this.leave(), 0)
  }

  private leave(): void {
    if (!this.isField && !this.host.contains(document.activeElement)) this.hide()
  }

  private readonly onScroll = () => {
    if (!this.host.hidden && !this.isField) this.position()
  }
}

/** Makes a part of the text a link; `words` take its place if they are given. */
export function setLink(
  view: EditorView,
  from: number,
  to: number,
  words: string | null,
  href: string,
): void {
  const { link } = namesOf(view.state.schema)
  const { tr, schema, doc } = view.state
  const mark = link.create({ href })
  let end = to
  if (words !== null || from === to) {
    const text = words ?? href
    const marks = doc.resolve(from).marksAcross(doc.resolve(to)) ?? []
    const kept = marks.filter(({ type }) => type !== link)
    tr.replaceWith(from, to, schema.text(text, kept))
    end = from + text.length
  }
  tr.removeMark(from, end, link).addMark(from, end, mark)
  tr.setSelection(TextSelection.create(tr.doc, end)).removeStoredMark(link)
  dispatchAlone(view, tr)
}
