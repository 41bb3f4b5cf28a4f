// A notebook as a page that is only read: cells of markdown, code with colors, and outputs.

import MarkdownIt from 'markdown-it'
import { plural, t } from '../../../language/translate'
import type { CodeColorizer } from '../../markdown/blocks/code_languages'
import { colorOfLanguage, showColored } from '../../markdown/blocks/colored_code'
import type { MountedEditor, MountOptions } from '../../mounted_editor'
import { imageIn, makeOutputs } from './outputs'
import { readNotebook, type Notebook, type NotebookCell } from './read_notebook'
import { buildSafeHtml } from './safe_html'
import './notebook.css'

/** How many cells are shown, and of each how much, in UTF-16 code units. */
const MAX_CELLS = 1000
const MAX_SOURCE = 100_000
/** How long a change of the text waits for the next one, in milliseconds. */
const CHANGE_MS = 300

// HTML in markdown is shown as it is written.
const markdown = new MarkdownIt({ html: false, linkify: false })
const { validateLink } = markdown
markdown.validateLink = (url) => /^attachment:/i.test(url) || validateLink(url)

/** Returns the image of a cell that an address names; null for the others. */
function attachedImage(address: string, { attachments }: NotebookCell): string | null {
  const name = /^attachment:(.+)$/i.exec(address)?.[1] ?? ''
  const found = Object.keys(attachments).find((key) => key === name || encodeURI(key) === name)
  return found === undefined ? null : imageIn(attachments[found]!)
}

function showMarkdown(source: string, cell: NotebookCell | null = null): HTMLElement {
  const shown = document.createElement('div')
  shown.className = 'notebook-markdown'
  shown.dir = 'auto'
  const html = markdown.render(source.slice(0, MAX_SOURCE))
  shown.append(buildSafeHtml(html, (src) => (cell === null ? null : attachedImage(src, cell))))
  return shown
}

class NotebookPreview {
  private readonly root = document.createElement('div')
  private readonly message = document.createElement('p')
  private readonly list = document.createElement('div')
  private timer: ReturnType<typeof setTimeout> | undefined
  private colorize: CodeColorizer | null = null
  private language = ''
  /** The cells that are shown, by what they are made of: those that stay the same stay. */
  private shown = new Map<string, HTMLElement[]>()
  private readonly onChange = () => {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.read(), CHANGE_MS)
  }

  constructor({ container, document: opened, name }: MountOptions) {
    this.text = opened.doc.getText('text')
    this.root.className = 'notebook'
    this.root.tabIndex = 0
    this.root.setAttribute('role', 'region')
    this.root.ariaLabel = t('Notebook {name}', { name })
    this.message.className = 'notebook-note'
    this.message.setAttribute('role', 'status')
    this.root.append(this.message, this.list)
    container.append(this.root)
    this.text.observe(this.onChange)
    this.read()
  }

  private readonly text

  focus(): void {
    this.root.focus()
  }

  destroy(): void {
    clearTimeout(this.timer)
    this.text.unobserve(this.onChange)
  }

  private read(): void {
    const notebook = readNotebook(this.text.toString())
    // What was shown stays while its JSON is being changed.
    if (notebook === null) {
      this.message.textContent = t('The file is not a complete notebook yet.')
      return
    }
    const { cells } = notebook
    const counted = plural(cells.length, '1 cell', '{n} cells')
    this.message.textContent =
      cells.length > MAX_CELLS
        ? t('{counted}; the first {n} are shown', { counted, n: MAX_CELLS })
        : counted
    this.draw(notebook)
    if (notebook.language !== this.language) void this.loadColors(notebook.language)
  }

  private draw({ cells }: Notebook): void {
    const before = this.shown
    this.shown = new Map()
    const drawn = cells.slice(0, MAX_CELLS).map((cell) => {
      const key = JSON.stringify(cell)
      const element = before.get(key)?.pop() ?? this.makeCell(cell)
      this.shown.set(key, [...(this.shown.get(key) ?? []), element])
      return element
    })
    this.list.replaceChildren(...drawn)
  }

  private makeCell(cell: NotebookCell): HTMLElement {
    const section = document.createElement('section')
    section.className = `notebook-cell is-${cell.kind}`
    if (cell.kind === 'markdown') {
      section.append(showMarkdown(cell.source, cell))
      return section
    }
    const isCode = cell.kind === 'code'
    section.ariaLabel = isCode ? t('Code cell') : t('Text cell')
    const count = document.createElement('span')
    count.className = 'notebook-count'
    count.textContent = isCode ? `[${cell.count ?? ' '}]` : ''
    const pre = document.createElement('pre')
    pre.className = 'notebook-source'
    pre.tabIndex = 0
    const code = document.createElement('code')
    code.textContent = cell.source.slice(0, MAX_SOURCE)
    pre.append(code)
    section.append(count, pre)
    if (isCode && this.colorize !== null) showColored(code, this.colorize)
    if (cell.outputs.length > 0) section.append(makeOutputs(cell.outputs, showMarkdown))
    return section
  }

  private async loadColors(language: string): Promise<void> {
    this.language = language
    this.colorize = await colorOfLanguage(language)
    if (this.colorize === null) return
    for (const code of this.list.querySelectorAll<HTMLElement>('.is-code > pre > code')) {
      showColored(code, this.colorize)
    }
  }
}

export function mountNotebookPreview(options: MountOptions): MountedEditor {
  const preview = new NotebookPreview(options)
  return {
    focus: () => preview.focus(),
    reveal: () => {},
    rename: () => {},
    setReadOnly: () => {},
    destroy: () => preview.destroy(),
  }
}
