// The bytes of a file in hexadecimal. Only the lines on screen exist, and only the pages that they
// are on are loaded.

import type { EditorWorkspace } from '../../documents'
import { t } from '../../language/translate'
import { fileUrl } from '../../session/file_url'

const PER_LINE = 16
const LINE_HEIGHT = 20
const PAGE = 16 << 10
/** Browsers limit the height of an element: longer files end here, in lines. */
const MAX_LINES = 400_000

interface HexViewOptions {
  workspace: EditorWorkspace
  container: HTMLElement
  size: number
  path: () => string
}

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')

function formatLine(offset: number, bytes: Uint8Array | null, digits: number): string {
  const head = hex(offset, digits)
  if (bytes === null) return head
  const codes = [...bytes].map((byte) => hex(byte, 2))
  const halves = [codes.slice(0, 8).join(' '), codes.slice(8).join(' ')].join('  ')
  const text = [...bytes].map((byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·',
  )
  return `${head}  ${halves.padEnd(49)}  ${text.join('')}`
}

export function mountHexView(options: HexViewOptions): { destroy(): void } {
  const { workspace, container, size, path } = options
  const root = document.createElement('div')
  root.className = 'hex-view'
  root.tabIndex = 0
  root.setAttribute('role', 'region')
  root.setAttribute('aria-label', t('Bytes of the file'))
  const n_lines = Math.min(MAX_LINES, Math.ceil(size / PER_LINE))
  const spacer = document.createElement('div')
  spacer.style.height = `${n_lines * LINE_HEIGHT}px`
  const lines = document.createElement('pre')
  spacer.append(lines)
  root.append(spacer)
  container.append(root)
  const pages = new Map<number, Uint8Array | null>()
  const digits = Math.max(8, hex(size, 0).length)
  let isGone = false

  const load = async (page: number) => {
    pages.set(page, null)
    const from = page * PAGE
    const to = Math.min(size, from + PAGE) - 1
    const headers = { Range: `bytes=${from}-${to}` }
    try {
      const response = await workspace.fetch(fileUrl(path()), { headers })
      if (!response.ok) throw new Error(String(response.status))
      const data = new Uint8Array(await response.arrayBuffer())
      // A server that ignores the range sends all.
      pages.set(page, response.status === 206 ? data : data.subarray(from, to + 1))
      if (!isGone) draw()
    } catch {
      pages.delete(page)
    }
  }
  const bytesOf = (line: number): Uint8Array | null => {
    const offset = line * PER_LINE
    const page = Math.floor(offset / PAGE)
    if (!pages.has(page)) void load(page)
    const data = pages.get(page)
    return data ? data.subarray(offset - page * PAGE, offset - page * PAGE + PER_LINE) : null
  }
  const draw = () => {
    const first = Math.max(0, Math.floor(root.scrollTop / LINE_HEIGHT) - 8)
    const shown = Math.ceil(root.clientHeight / LINE_HEIGHT) + 16
    const texts: string[] = []
    for (let line = first; line < Math.min(n_lines, first + shown); line++) {
      texts.push(formatLine(line * PER_LINE, bytesOf(line), digits))
    }
    lines.style.transform = `translateY(${first * LINE_HEIGHT}px)`
    lines.textContent = texts.join('\n')
  }
  const observer = new ResizeObserver(draw)
  observer.observe(root)
  root.addEventListener('scroll', draw, { passive: true })
  draw()
  return {
    destroy: () => {
      isGone = true
      observer.disconnect()
      root.remove()
    },
  }
}
