// Names of documents that are offered after `[[`.

import { Plugin, TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import type { LinkTargets } from './wiki_links'

const MAX_NAMES = 8

interface OpenLink {
  from: number
  to: number
  text: string
}

function openLink(view: EditorView): OpenLink | null {
  const { selection } = view.state
  if (!(selection instanceof TextSelection) || !selection.empty || !view.editable) return null
  const { $from } = selection
  if ($from.parent.type.spec.code === true) return null
  const before = $from.parent.textBetween(0, $from.parentOffset, '\ufffc', '\ufffc')
  const match = /\[\[([^[\]|\ufffc]{0,60})$/.exec(before)
  const after = $from.parent.textBetween(
    $from.parentOffset,
    $from.parent.content.size,
    '',
    '\ufffc',
  )
  // A caret in a link that is complete asks for nothing.
  if (match === null || /^[^[\]]+\]\]/.test(after)) return null
  return { from: $from.pos - match[1]!.length, to: $from.pos, text: match[1]! }
}

class WikiCompletion {
  private readonly list = document.createElement('ul')
  private found: { name: string; path: string }[] = []
  private selected = 0
  private link: OpenLink | null = null
  private closedAt: number | null = null

  constructor(
    private readonly view: EditorView,
    private readonly targets: LinkTargets,
  ) {
    this.list.className = 'slash-menu'
    this.list.setAttribute('role', 'listbox')
    this.list.ariaLabel = t('Documents')
    this.list.hidden = true
    document.body.append(this.list)
  }

  update(): void {
    const link = openLink(this.view)
    if (link?.from !== this.closedAt) this.closedAt = null
    if (link?.text !== this.link?.text) this.selected = 0
    this.link = this.closedAt === null ? link : null
    this.found = this.link === null ? [] : this.targets.complete(this.link.text, MAX_NAMES)
    this.render()
  }

  handleKey(event: KeyboardEvent): boolean {
    if (this.list.hidden || this.link === null) return false
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (move !== undefined) {
      this.selected = (this.selected + move + this.found.length) % this.found.length
      this.render()
      return true
    }
    if (event.key === 'Enter' || event.key === 'Tab') return this.choose(this.selected)
    if (event.key !== 'Escape') return false
    this.closedAt = this.link.from
    this.update()
    return true
  }

  destroy(): void {
    this.list.remove()
  }

  private choose(index: number): boolean {
    const chosen = this.found[index]
    if (chosen === undefined || this.link === null) return false
    const { from, to } = this.link
    const { doc, tr } = this.view.state
    const isClosed = doc.textBetween(to, Math.min(doc.content.size, to + 2), '\ufffc') === ']]'
    this.view.dispatch(tr.insertText(`${chosen.name}]]`, from, isClosed ? to + 2 : to))
    this.view.focus()
    return true
  }

  private render(): void {
    this.list.hidden = this.found.length === 0
    this.list.replaceChildren(...this.found.map((page, index) => this.renderItem(page, index)))
    if (this.link === null || this.list.hidden) return
    const place = this.view.coordsAtPos(this.link.from)
    const isLow = place.bottom + 280 > window.innerHeight
    this.list.style.left = `${place.left}px`
    this.list.style.top = isLow ? '' : `${place.bottom + 6}px`
    this.list.style.bottom = isLow ? `${window.innerHeight - place.top + 6}px` : ''
  }

  private renderItem({ name, path }: { name: string; path: string }, index: number): HTMLElement {
    const item = document.createElement('li')
    item.setAttribute('role', 'option')
    item.setAttribute('aria-selected', String(index === this.selected))
    const label = document.createElement('span')
    label.textContent = name
    const folder = document.createElement('kbd')
    folder.textContent = path.slice(0, path.lastIndexOf('/')) || '/'
    item.append(label, folder)
    item.addEventListener('mousedown', (event) => {
      event.preventDefault()
      this.choose(index)
    })
    return item
  }
}

export function wikiCompletion(targets: LinkTargets): Plugin {
  let completion: WikiCompletion | null = null
  return new Plugin({
    view: (view) => {
      const made = new WikiCompletion(view, targets)
      completion = made
      return { update: () => made.update(), destroy: () => made.destroy() }
    },
    props: { handleKeyDown: (_view, event) => completion?.handleKey(event) ?? false },
  })
}
