// The bar, the bubbles and the handle of one editor.

import { signal } from '@preact/signals'
import { render } from 'preact'
import type { EditorState } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import type { EditorAction } from '../../mounted_editor'
import type { RichView } from '../rich_view'
import { blockActions, formatAt, insertActions, markActions, showKeys } from './actions'
import { PageBar } from './bar'
import { showsBar } from './bar_setting'
import { BlockHandle } from './block_handle'
import type { LateContext } from './late_parts'
import { Popups } from './popups'

const SHOWN_BLOCKS = ['bullets', 'numbers', 'tasks', 'quote', 'code']

export class WritingParts {
  private readonly view: EditorView
  private readonly bar = document.createElement('div')
  private readonly format = signal<string[]>(['text'])
  private readonly popups: Popups
  private readonly handle: BlockHandle | null

  constructor(rich: RichView, { container, path, report, id }: LateContext) {
    this.view = rich.view
    const page = this.view.dom.closest<HTMLElement>('.rich-page')
    const context = { path, report, id }
    this.popups = new Popups(this.view, container, this.format, context)
    this.handle = page === null ? null : new BlockHandle(this.view, page, context)
    this.bar.className = 'page-bar is-idle'
    container.prepend(this.bar)
    this.renderBar()
    this.view.dom.addEventListener('focus', this.onFocus)
    this.view.dom.addEventListener('blur', this.onBlur)
    this.bar.classList.toggle('is-idle', !this.view.hasFocus())
    window.visualViewport?.addEventListener('resize', this.onViewport)
    window.visualViewport?.addEventListener('scroll', this.onViewport)
    this.onViewport()
    this.update(null)
  }

  /** After a transaction. */
  update(before: EditorState | null): void {
    const { state } = this.view
    const format = formatAt(state)
    if (format.join() !== this.format.peek().join()) this.format.value = format
    const isChanged = before !== null && before.doc !== state.doc
    if (isChanged) this.handle?.hide()
    this.popups.update(isChanged)
    if ((this.bar.dataset['editable'] === 'true') !== this.view.editable) this.renderBar()
  }

  handleKey(event: KeyboardEvent): boolean {
    if (event.key === 'Escape') return this.popups.close()
    if (event.key !== 'F10' || !event.altKey) return false
    if (this.popups.focus()) return true
    const button = this.bar.querySelector<HTMLElement>('button')
    button?.focus()
    return button !== null
  }

  handleDrop(event: DragEvent): boolean {
    return this.handle?.handleDrop(event) ?? false
  }

  /** Returns what the list of commands offers. */
  actions(): EditorAction[] {
    const bar = {
      id: 'format-bar',
      label: t('Format bar'),
      isOn: showsBar.peek(),
      run: () => (showsBar.value = !showsBar.peek()),
    }
    const { view } = this
    if (!view.editable) return [bar]
    const marks = markActions(view, () => this.askForLink())
    const format = [...marks, ...insertActions(view), ...blockActions(view)]
    return [bar, ...format.map((action) => ({ ...action, keys: showKeys(action.keys) }))]
  }

  askForLink(): void {
    this.popups.askForLink()
  }

  destroy(): void {
    render(null, this.bar)
    this.bar.remove()
    this.popups.destroy()
    this.handle?.destroy()
    window.visualViewport?.removeEventListener('resize', this.onViewport)
    window.visualViewport?.removeEventListener('scroll', this.onViewport)
  }

  private renderBar(): void {
    const { view } = this
    this.bar.dataset['editable'] = String(view.editable)
    render(
      view.editable ? (
        <PageBar
          isShown={showsBar}
          label={t('Format')}
          marks={markActions(view, () => this.askForLink())}
          blocks={blockActions(view)}
          shownBlocks={SHOWN_BLOCKS}
          format={this.format}
          onLeave={() => view.focus()}
        />
      ) : null,
      this.bar,
    )
  }

  private readonly onFocus = () => this.bar.classList.remove('is-idle')

  private readonly onBlur = () => {
    setTimeout(() => {
      const isIdle = !this.view.hasFocus() && !this.bar.contains(document.activeElement)
      this.bar.classList.toggle('is-idle', isIdle)
    }, 200)
  }

  /** Keeps the bar of a phone above its keyboard. */
  private readonly onViewport = () => {
    const viewport = window.visualViewport
    if (viewport === null) return
    const hidden = window.innerHeight - viewport.height - viewport.offsetTop
    this.bar.style.setProperty('--keyboard-height', `${Math.max(0, hidden)}px`)
  }
}
