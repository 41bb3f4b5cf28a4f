// The field for what is said of an image: the text in its place, the caption and the width.

import { render } from 'preact'
import { useState } from 'preact/hooks'
import { NodeSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../language/translate'
import { moveBeside } from '../../look/place'
import { anchorPlace } from './format/anchors'
import './format/format.css'
import { dispatchAlone } from './format/undo_steps'
import { altOf, readImage, type ImageWords } from './image_words'

const MAX_WIDTH = 99_999

interface ImageFieldProps {
  words: ImageWords
  onApply: (words: ImageWords) => void
  onClose: () => void
}

function ImageField({ words, onApply, onClose }: ImageFieldProps) {
  const [text, setText] = useState(words.text)
  const [title, setTitle] = useState(words.title)
  const [width, setWidth] = useState(words.width === null ? '' : String(words.width))
  const apply = (event: Event) => {
    event.preventDefault()
    const pixels = Math.round(Number(width))
    const isWidth = width !== '' && pixels > 0 && pixels <= MAX_WIDTH
    onApply({ text: oneLine(text), title: oneLine(title), width: isWidth ? pixels : null })
  }
  return (
    <div
      role="dialog"
      aria-label={t('Image')}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Escape') onClose()
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        const isInside = relatedTarget instanceof Node && currentTarget.contains(relatedTarget)
        if (!isInside && relatedTarget !== null) onClose()
      }}
    >
      <form class="link-field image-field" onSubmit={apply}>
        <Row label={t('Alternative text')} value={text} onChange={setText} />
        <Row label={t('Caption')} value={title} onChange={setTitle} />
        <Row label={t('Width in pixels')} value={width} onChange={setWidth} isNumber />
        <p class="faint">{t('The alternative text is read to people who do not see the image.')}</p>
        <div class="link-actions">
          <button type="button" class="plain" onClick={onClose}>
            {t('Cancel')}
          </button>
          <button type="submit" class="primary">
            {t('Apply')}
          </button>
        </div>
      </form>
    </div>
  )
}

interface RowProps {
  label: string
  value: string
  isNumber?: boolean
  onChange: (value: string) => void
}

function Row({ label, value, isNumber = false, onChange }: RowProps) {
  return (
    <label>
      <span>{label}</span>
      <input
        class="field"
        dir="auto"
        inputMode={isNumber ? 'numeric' : 'text'}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  )
}

/** Both are part of one line of markdown. */
const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

let closeOpen: (() => void) | null = null

/** Opens the field for the image at a place. */
export function askForImage(view: EditorView, at: number): void {
  closeOpen?.()
  const node = view.state.doc.nodeAt(at)
  if (node === null || !view.editable) return
  const place = anchorPlace(view, at)
  const host = document.createElement('div')
  host.className = 'format-popup'
  document.body.append(host)
  const close = () => {
    if (closeOpen !== close) return
    closeOpen = null
    const hadFocus = host.contains(document.activeElement)
    render(null, host)
    host.remove()
    if (hadFocus && !view.isDestroyed) view.focus()
  }
  closeOpen = close
  const apply = (words: ImageWords) => {
    const now = view.isDestroyed ? null : view.state.doc.nodeAt(place())
    // Another person may have removed it, or changed what is beside these words.
    if (now?.type === node.type) setWords(view, place(), words)
    close()
  }
  render(<ImageField words={readImage(node)} onApply={apply} onClose={close} />, host)
  const dom = view.nodeDOM(at)
  if (dom instanceof Element) moveBeside(host, dom)
  host.querySelector('input')?.select()
}

function setWords(view: EditorView, at: number, words: ImageWords): void {
  const { state } = view
  const node = state.doc.nodeAt(at)!
  const before = readImage(node)
  const { tr } = state
  if (altOf(words) !== altOf(before)) tr.setNodeAttribute(at, 'alt', altOf(words))
  if (words.title !== before.title) {
    const none: unknown = node.type.spec.attrs?.['title']?.default
    tr.setNodeAttribute(at, 'title', words.title === '' ? none : words.title)
  }
  if (!tr.docChanged) return
  dispatchAlone(view, tr.setSelection(NodeSelection.create(tr.doc, at)))
}
