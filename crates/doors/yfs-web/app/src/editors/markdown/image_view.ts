// Images of a document: those of the workspace are loaded with the token.

import { Pencil } from 'lucide'
import type { Node } from 'prosemirror-model'
import { NodeSelection, Plugin } from 'prosemirror-state'
import type { EditorView, NodeView } from 'prosemirror-view'
import type { EditorWorkspace } from '../../documents'
import { t } from '../../language/translate'
import { makeIcon } from '../../look/icon'
import { isRightToLeft } from '../../look/place'
import { fileUrl } from '../../session/file_url'
import { linkTargets } from './blocks/wiki_links'
import { isEmbedSource } from './embeds/embed_target'
import { followFile } from './embeds/read_file'
import { altOf, readImage } from './image_words'
import { resolveReference } from './workspace_path'
import './image_view.css'

/** Loads the images of one editor, each once. */
export class ImageLoader {
  private readonly urls = new Map<string, Promise<string>>()

  constructor(
    private readonly workspace: EditorWorkspace,
    private readonly filePath: () => string,
  ) {}

  /** Returns an address that an `img` can show. */
  async load(source: string): Promise<string> {
    const path = resolveReference(this.filePath(), source)
    if (path === null) return source
    let url = this.urls.get(path)
    if (url === undefined) {
      url = this.fetch(path)
      this.urls.set(path, url)
      url.catch(() => this.urls.delete(path))
    }
    return url
  }

  /** Shows a drawing of the workspace as it changes; null for other images. */
  follow(source: string, show: (url: string | null) => void): (() => void) | null {
    const isDrawing = /\.svg(?:[?#]|$)/i.test(source)
    const path = isDrawing ? resolveReference(this.filePath(), source) : null
    if (path === null) return null
    let url: string | null = null
    const replace = (blob: Blob | null) => {
      const before = url
      url = blob && URL.createObjectURL(new Blob([blob], { type: 'image/svg+xml' }))
      show(url)
      if (before !== null) URL.revokeObjectURL(before)
    }
    const row = () => linkTargets(this.workspace).rowAt(path)
    const file = { path, row, maxBytes: MAX_DRAWING }
    const stop = followFile(this.workspace, file, {
      onPart: ({ blob, isCut }) => replace(isCut ? null : blob),
      onProblem: () => replace(null),
    })
    return () => {
      stop()
      if (url !== null) URL.revokeObjectURL(url)
    }
  }

  destroy(): void {
    for (const url of this.urls.values()) void url.then(URL.revokeObjectURL, () => {})
    this.urls.clear()
  }

  private async fetch(path: string): Promise<string> {
    const response = await this.workspace.fetch(fileUrl(path))
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return URL.createObjectURL(await response.blob())
  }
}

/** The field loads when a person asks for it. */
const askForImage = async (view: EditorView, at: number) =>
  (await import('./image_field')).askForImage(view, at)

const MIN_WIDTH = 32
/** A larger drawing is not shown, in bytes. */
const MAX_DRAWING = 8 << 20

export class ImageView implements NodeView {
  readonly dom = document.createElement('span')
  private readonly frame = document.createElement('span')
  private readonly image = document.createElement('img')
  private readonly caption = document.createElement('span')
  private source: string | null = null
  private stop: (() => void) | null = null

  constructor(
    private node: Node,
    private readonly loader: ImageLoader,
    private readonly view: EditorView,
    private readonly position: () => number | undefined,
  ) {
    this.dom.className = 'rich-image'
    this.frame.className = 'rich-image-frame'
    this.caption.className = 'rich-image-caption'
    this.frame.append(this.image, this.makeHandle(), this.makeButton())
    this.dom.append(this.frame, this.caption)
    this.image.addEventListener('click', () => enlarge(this.image))
    this.render()
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type) return false
    this.node = node
    this.render()
    return true
  }

  destroy(): void {
    this.stop?.()
  }

  stopEvent({ target }: Event): boolean {
    return target instanceof Element && target.closest('.rich-image-handle, button') !== null
  }

  ignoreMutation(): boolean {
    return true
  }

  /** Makes the handle that changes the width. */
  private makeHandle(): HTMLElement {
    const handle = document.createElement('span')
    handle.className = 'rich-image-handle'
    handle.title = t('Drag to change the width')
    handle.addEventListener('pointerdown', (start) => {
      if (!this.view.editable) return
      start.preventDefault()
      handle.setPointerCapture(start.pointerId)
      const before = this.image.getBoundingClientRect().width
      const most = this.dom.parentElement?.clientWidth ?? before
      const sign = isRightToLeft(this.dom) ? -1 : 1
      const widthAt = ({ clientX }: PointerEvent) =>
        Math.round(Math.max(MIN_WIDTH, Math.min(most, before + sign * (clientX - start.clientX))))
      const move = (event: PointerEvent) => (this.image.style.width = `${widthAt(event)}px`)
      const finish = (event: PointerEvent) => {
        handle.removeEventListener('pointermove', move)
        if (event.type === 'pointerup') this.setWidth(widthAt(event))
        else this.render()
      }
      handle.addEventListener('pointermove', move)
      handle.addEventListener('pointerup', finish, { once: true })
      handle.addEventListener('pointercancel', finish, { once: true })
    })
    return handle
  }

  /** Makes the button that opens the field. */
  private makeButton(): HTMLElement {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'rich-image-edit'
    button.ariaLabel = button.title = t('Text and size of the image')
    button.append(makeIcon(Pencil))
    button.addEventListener('click', () => {
      const at = this.position()
      if (at !== undefined) void askForImage(this.view, at)
    })
    return button
  }

  private setWidth(width: number): void {
    const at = this.position()
    if (at === undefined) return
    const alt = altOf({ ...readImage(this.node), width })
    this.view.dispatch(this.view.state.tr.setNodeAttribute(at, 'alt', alt))
  }

  private render(): void {
    const src = this.node.attrs['src'] as string | null
    const { text, title, width } = readImage(this.node)
    this.image.alt = text
    this.image.style.width = width === null ? '' : `${width}px`
    this.dom.dataset['label'] = text === '' ? (src ?? '') : text
    this.caption.textContent = title
    this.caption.hidden = title === ''
    this.dom.classList.toggle('has-caption', !this.caption.hidden)
    if (src === this.source) return
    this.source = src ?? ''
    this.dom.classList.remove('is-missing')
    // Another view shows the file.
    const isEmbed = isEmbedSource(this.source)
    this.dom.classList.toggle('is-embed', isEmbed)
    this.dom.dataset['source'] = this.source
    this.stop?.()
    this.stop = this.loader.follow(this.source, (url) => {
      this.dom.classList.toggle('is-missing', url === null)
      if (url !== null) this.image.src = url
    })
    if (!isEmbed && this.stop === null) void this.show(this.source)
  }

  private async show(source: string): Promise<void> {
    try {
      const url = await this.loader.load(source)
      if (this.source === source) this.image.src = url
    } catch {
      this.dom.classList.add('is-missing')
    }
  }
}

/** Shows an image over the whole page until a click or Escape. */
function enlarge(image: HTMLImageElement): void {
  if (image.src === '') return
  const dialog = document.createElement('dialog')
  dialog.className = 'image-dialog'
  dialog.ariaLabel = image.alt === '' ? t('Image') : image.alt
  const large = document.createElement('img')
  large.src = image.src
  large.alt = image.alt
  dialog.append(large)
  dialog.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** Opens the field of the image that is selected, at Enter. */
export function imageKeys(): Plugin {
  return new Plugin({
    props: {
      handleKeyDown: (view, { key }) => {
        const { selection } = view.state
        const isImage = selection instanceof NodeSelection && selection.node.type.name === 'image'
        if (!isImage || key !== 'Enter' || !view.editable) return false
        void askForImage(view, selection.from)
        return true
      },
    },
  })
}
