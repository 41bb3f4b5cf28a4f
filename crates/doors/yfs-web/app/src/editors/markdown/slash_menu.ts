// A menu of blocks that opens when a person types `/` at the beginning of a block.

import { Plugin, PluginKey, TextSelection } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../language/translate'
import type { BlockCommand } from './rich_view'

const key = new PluginKey<SlashState>('slash-menu')

interface SlashState {
  /** The position of the slash at which the menu was closed. */
  closedAt: number | null
}

interface SlashQuery {
  from: number
  to: number
  text: string
}

function queryOf(view: EditorView): SlashQuery | null {
  const { selection } = view.state
  if (!(selection instanceof TextSelection) || !selection.empty || !view.editable) return null
  const { $from } = selection
  if ($from.parent.type.spec.code === true) return null
  const before = $from.parent.textBetween(0, $from.parentOffset, '\ufffc', '\ufffc')
  const match = /^\/([\p{L}\p{N} ]{0,24})$/u.exec(before)
  if (match === null) return null
  const from = $from.start()
  if (key.getState(view.state)?.closedAt === from) return null
  return { from, to: $from.pos, text: match[1]!.toLowerCase() }
}

class SlashMenu {
  private readonly list = document.createElement('ul')
  private found: BlockCommand[] = []
  private selected = 0
  private query: SlashQuery | null = null

  constructor(
    private readonly view: EditorView,
    private readonly blocks: BlockCommand[],
  ) {
    this.list.className = 'slash-menu'
    this.list.setAttribute('role', 'listbox')
    this.list.setAttribute('aria-label', t('Blocks'))
    this.list.hidden = true
    document.body.append(this.list)
  }

  update(): void {
    const query = queryOf(this.view)
    if (query?.text !== this.query?.text) this.selected = 0
    this.query = query
    if (query === null) {
      this.list.hidden = true
      return
    }
    const matches = ({ label, words }: BlockCommand) =>
      `${label} ${words}`.toLowerCase().includes(query.text.trim())
    this.found = this.blocks.filter(
      (block) => matches(block) && (block.isEnabled?.(this.view) ?? true),
    )
    this.render(query)
  }

  handleKey(event: KeyboardEvent): boolean {
    if (this.list.hidden || this.query === null) return false
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (move !== undefined) {
      this.selected = (this.selected + move + this.found.length) % this.found.length
      this.render(this.query)
      return true
    }
    if (event.key === 'Enter' || event.key === 'Tab') return this.choose(this.selected)
    if (event.key !== 'Escape') return false
    this.view.dispatch(this.view.state.tr.setMeta(key, { closedAt: this.query.from }))
    return true
  }

  destroy(): void {
    this.list.remove()
  }

  private choose(index: number): boolean {
    const block = this.found[index]
    if (block === undefined || this.query === null) return false
    const { from, to } = this.query
    this.list.hidden = true
    this.view.dispatch(this.view.state.tr.delete(from, to))
    block.run(this.view.state, this.view.dispatch, this.view)
    this.view.focus()
    return true
  }

  private render(query: SlashQuery): void {
    this.list.hidden = this.found.length === 0
    this.list.replaceChildren(...this.found.map((block, index) => this.renderItem(block, index)))
    const place = this.view.coordsAtPos(query.from)
    const isLow = place.bottom + 280 > window.innerHeight
    this.list.style.left = `${place.left}px`
    this.list.style.top = isLow ? '' : `${place.bottom + 6}px`
    this.list.style.bottom = isLow ? `${window.innerHeight - place.top + 6}px` : ''
    this.list.children[this.selected]?.scrollIntoView({ block: 'nearest' })
  }

  private renderItem({ label, hint }: BlockCommand, index: number): HTMLElement {
    const item = document.createElement('li')
    item.setAttribute('role', 'option')
    item.setAttribute('aria-selected', String(index === this.selected))
    const name = document.createElement('span')
    name.textContent = label
    const shortcut = document.createElement('kbd')
    shortcut.textContent = hint
    item.append(name, shortcut)
    item.addEventListener('mousedown', (event) => {
      event.preventDefault()
      this.choose(index)
    })
    return item
  }
}

export function slashMenu(blocks: BlockCommand[]): Plugin<SlashState> {
  let menu: SlashMenu | null = null
  return new Plugin<SlashState>({
    key,
    state: {
      init: () => ({ closedAt: null }),
      apply: (tr, state) => {
        const meta = tr.getMeta(key) as SlashState | undefined
        if (meta !== undefined) return meta
        // Typing the slash once more opens the menu again.
        const isHere = state.closedAt !== null && tr.selection.$from.start() === state.closedAt
        return isHere && tr.selection.$from.parent.content.size > 0 ? state : { closedAt: null }
      },
    },
    view: (view) => {
      menu = new SlashMenu(view, blocks)
      return { update: () => menu?.update(), destroy: () => menu?.destroy() }
    },
    props: {
      handleKeyDown: (_view, event) => menu?.handleKey(event) ?? false,
      handleDOMEvents: {
        blur: () => {
          setTimeout(() => menu?.update(), 0)
          return false
        },
      },
    },
  })
}
