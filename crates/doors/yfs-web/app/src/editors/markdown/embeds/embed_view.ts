// The view of a file in a document: a table, a picture, or the first lines of a text. It is read
// only, follows the file, and is bounded in size.

import type { EditorWorkspace } from '../../../documents'
import { plural, t } from '../../../language/translate'
import { parseTable, separatorOf } from '../../preview/parse_table'
import { OPEN_PATH_EVENT } from '../rich_clicks'
import type { EmbedKind, EmbedTarget } from './embed_target'
import { followFile, type FilePart } from './read_file'
import './embeds.css'

/** How much of a file is read, in bytes; a longer picture is not shown. */
const MAX_BYTES: Record<EmbedKind, number> = { table: 1 << 17, text: 1 << 16, picture: 8 << 20 }
const [MAX_ROWS, MAX_COLUMNS, MAX_CELL] = [100, 30, 200]
const [MAX_LINES, MAX_LINE] = [60, 400]

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)

/** Shows a target in its place; returns the end of it. */
export function mountEmbed(
  place: HTMLElement,
  target: EmbedTarget,
  workspace: EditorWorkspace,
): () => void {
  if ('problem' in target) {
    place.classList.add('has-problem')
    place.textContent = target.problem
    return () => {}
  }
  return new EmbedView(place, target, workspace).start()
}

class EmbedView {
  private readonly body = document.createElement('span')
  private readonly note = document.createElement('span')
  private url: string | null = null
  private stop: () => void = () => {}

  constructor(
    private readonly place: HTMLElement,
    private readonly target: { id: string; path: string; kind: EmbedKind },
    private readonly workspace: EditorWorkspace,
  ) {
    const name = nameOf(target.path)
    place.setAttribute('role', 'group')
    place.ariaLabel = t('Embedded file {name}', { name })
    this.body.className = `embed-body is-${target.kind}`
    this.body.tabIndex = 0
    this.body.setAttribute('role', 'region')
    this.body.ariaLabel = t('Content of {name}', { name })
    this.note.className = 'embed-note'
    place.append(this.makeHead(name), this.body)
  }

  /** Reads the file once the place is near what is visible, and follows it from then on. */
  start(): () => void {
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        seen.disconnect()
        this.follow()
      },
      { rootMargin: '400px' },
    )
    seen.observe(this.place)
    this.stop = () => seen.disconnect()
    return () => {
      this.stop()
      if (this.url !== null) URL.revokeObjectURL(this.url)
    }
  }

  private follow(): void {
    const { id, path, kind } = this.target
    const row = () => this.workspace.rows.peek().get(id) ?? null
    const file = { path, row, maxBytes: MAX_BYTES[kind] }
    this.stop = followFile(this.workspace, file, {
      onPart: (part) => void this.show(part),
      onProblem: (reason) => this.say(reason),
    })
  }

  private makeHead(name: string): HTMLElement {
    const { path } = this.target
    const head = document.createElement('span')
    head.className = 'embed-head'
    const open = document.createElement('button')
    open.type = 'button'
    open.textContent = name
    open.title = t('Open {path}', { path })
    open.addEventListener('click', () => {
      const detail = { path }
      this.place.dispatchEvent(new CustomEvent(OPEN_PATH_EVENT, { bubbles: true, detail }))
    })
    head.append(open, this.note)
    return head
  }

  private say(message: string): void {
    this.body.textContent = message
    this.body.classList.add('has-problem')
  }

  private async show(part: FilePart): Promise<void> {
    this.body.classList.remove('has-problem')
    if (this.target.kind === 'picture') return this.showPicture(part)
    const text = await part.blob.text()
    const whole = part.isCut ? text.slice(0, text.lastIndexOf('\n') + 1) : text
    if (this.target.kind === 'table') this.showTable(whole, part.isCut)
    else await this.showText(whole, part.isCut)
  }

  private showPicture({ blob, isCut }: FilePart): void {
    if (isCut) return this.say(t('The picture is too large to be shown here.'))
    const { path } = this.target
    const type = /\.svg$/i.test(path) ? 'image/svg+xml' : blob.type
    const before = this.url
    this.url = URL.createObjectURL(new Blob([blob], { type }))
    const image = document.createElement('img')
    // An image runs no script and loads nothing.
    image.src = this.url
    image.alt = t('Picture {name}', { name: nameOf(path) })
    const fail = () => this.say(t('The file is not a complete picture yet.'))
    image.addEventListener('error', fail)
    image.addEventListener('load', () => before !== null && URL.revokeObjectURL(before))
    this.body.replaceChildren(image)
  }

  private showTable(text: string, isCut: boolean): void {
    const [names = [], ...rows] = parseTable(text, separatorOf(nameOf(this.target.path), text))
    const table = document.createElement('table')
    const addRow = (cells: string[], tag: 'th' | 'td') => {
      const row = table.insertRow()
      for (const cell of cells.slice(0, MAX_COLUMNS)) {
        const made = document.createElement(tag)
        made.textContent = cell.length > MAX_CELL ? `${cell.slice(0, MAX_CELL)}…` : cell
        if (tag === 'th') made.scope = 'col'
        row.append(made)
      }
    }
    addRow(names, 'th')
    for (const row of rows.slice(0, MAX_ROWS)) addRow(row, 'td')
    this.body.replaceChildren(table)
    const nShown = Math.min(rows.length, MAX_ROWS)
    const isWhole = !isCut && rows.length <= MAX_ROWS && names.length <= MAX_COLUMNS
    this.note.textContent = isWhole
      ? plural(rows.length, '1 row', '{n} rows')
      : plural(nShown, 'the first row', 'the first {n} rows')
  }

  private async showText(text: string, isCut: boolean): Promise<void> {
    const lines = text.replace(/(?:\r\n|\n|\r)$/, '').split(/\r\n|\n|\r/)
    const shown = lines
      .slice(0, MAX_LINES)
      .map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line))
    const code = document.createElement('code')
    code.textContent = shown.join('\n')
    const pre = document.createElement('pre')
    pre.append(code)
    this.body.replaceChildren(pre)
    this.note.textContent =
      isCut || lines.length > MAX_LINES
        ? plural(shown.length, 'the first line', 'the first {n} lines')
        : plural(lines.length, '1 line', '{n} lines')
    const { colorOfFile, showColored } = await import('../blocks/colored_code')
    const colorize = await colorOfFile(nameOf(this.target.path))
    if (colorize !== null && code.isConnected) showColored(code, colorize)
  }
}
