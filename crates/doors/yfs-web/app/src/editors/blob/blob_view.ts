// A file that is not text: a preview if the browser can show it, else its bytes.

import type { EditorWorkspace, FileRow } from '../../documents'
import { t } from '../../language/translate'
import { fileUrl } from '../../session/file_url'
import { accepted } from '../../session/refusal_words'
import { makeNotice } from '../notice'
import { mountHexView } from './hex_view'

type PreviewKind = 'image' | 'audio' | 'video' | 'pdf' | null

const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  ogv: 'video/ogg',
}

/** Files longer than this are not loaded for a preview, in bytes. */
const MAX_PREVIEW = 256 << 20

function typeOf(name: string): { type: string; kind: PreviewKind } {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? ''
  if (type === 'application/pdf') return { type, kind: 'pdf' }
  const kind = type.split('/')[0]
  const isShown = kind === 'image' || kind === 'audio' || kind === 'video'
  return { type, kind: isShown ? kind : null }
}

function makePreview(kind: Exclude<PreviewKind, null>, url: string, name: string): HTMLElement {
  if (kind === 'image') {
    const image = document.createElement('img')
    image.src = url
    image.alt = name
    return image
  }
  if (kind === 'pdf') {
    const frame = document.createElement('iframe')
    frame.src = url
    frame.title = name
    return frame
  }
  const player = document.createElement(kind)
  player.src = url
  player.controls = true
  player.setAttribute('aria-label', name)
  return player
}

const formatSize = (size: number): string => {
  const units = ['bytes', 'KB', 'MB', 'GB']
  let unit = 0
  let shown = size
  while (shown >= 1024 && unit < units.length - 1) {
    shown /= 1024
    unit += 1
  }
  return `${unit === 0 ? shown : shown.toFixed(1)} ${units[unit]}`
}

export interface BlobViewOptions {
  workspace: EditorWorkspace
  row: FileRow
  container: HTMLElement
  path: () => string
}

export interface MountedBlobView {
  focus(): void
  destroy(): void
}

/** Shows the blob that a row names. */
export function mountBlobView(options: BlobViewOptions): MountedBlobView {
  const { workspace, row, container, path } = options
  const size = row.blob?.size ?? row.size
  const { type, kind } = typeOf(row.name)
  const root = document.createElement('div')
  root.className = 'blob-view'
  root.tabIndex = -1
  const bar = document.createElement('div')
  bar.className = 'blob-bar'
  const summary = document.createElement('span')
  summary.textContent = `${type || t('Binary')} · ${formatSize(size)}`
  const content = document.createElement('div')
  content.className = 'blob-content'
  root.append(bar, content)
  container.append(root)
  let url: string | null = null
  let hex: { destroy(): void } | null = null
  let isGone = false

  const views = document.createElement('div')
  views.className = 'segments'
  views.setAttribute('role', 'group')
  views.setAttribute('aria-label', t('View'))
  const press = (shown: number) => {
    const buttons = [...views.children]
    buttons.forEach((each, n) => each.setAttribute('aria-pressed', String(n === shown)))
  }
  const showHex = () => {
    press(1)
    hex?.destroy()
    content.replaceChildren()
    hex = mountHexView({ workspace, container: content, size, path })
  }
  const fetchUrl = async (): Promise<string> => {
    const response = await accepted(await workspace.fetch(fileUrl(path())), path())
    const data = await response.blob()
    url ??= URL.createObjectURL(new Blob([data], { type: type || 'application/octet-stream' }))
    return url
  }
  const showPreview = async () => {
    if (kind === null) return
    press(0)
    hex?.destroy()
    hex = null
    try {
      const preview = makePreview(kind, await fetchUrl(), row.name)
      preview.addEventListener('error', () => {
        content.replaceChildren(makeNotice(t('The browser cannot show this file.')))
      })
      if (!isGone) content.replaceChildren(preview)
    } catch (error) {
      content.replaceChildren(
        makeNotice(t('The file cannot be loaded: {reason}', { reason: (error as Error).message }), {
          label: t('Try again'),
          run: () => void showPreview(),
        }),
      )
    }
  }
  const download = async () => {
    const link = document.createElement('a')
    link.href = await fetchUrl()
    link.download = row.name
    link.click()
  }
  const hasPreview = kind !== null && size <= MAX_PREVIEW
  bar.append(summary)
  if (hasPreview) {
    views.append(
      button(t('Preview'), () => void showPreview()),
      button(t('Bytes'), showHex),
    )
    bar.append(views)
    void showPreview()
  } else {
    showHex()
  }
  bar.append(button(t('Download'), () => void download().catch(() => {})))
  return {
    focus: () => root.focus(),
    destroy: () => {
      isGone = true
      hex?.destroy()
      root.remove()
      if (url !== null) URL.revokeObjectURL(url)
    },
  }
}

function button(label: string, run: () => void): HTMLButtonElement {
  const element = document.createElement('button')
  element.type = 'button'
  element.textContent = label
  element.addEventListener('click', run)
  return element
}
