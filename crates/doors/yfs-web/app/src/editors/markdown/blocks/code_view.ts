// A block of code: its language, a button that copies it, and for some languages a picture of it.

import { Check, Copy } from 'lucide'
import type { Node } from 'prosemirror-model'
import { Plugin, TextSelection } from 'prosemirror-state'
import { Decoration, DecorationSet, type EditorView, type NodeView } from 'prosemirror-view'
import { t } from '../../../language/translate'
import { makeIcon } from '../../../look/icon'
import { codeLanguage } from './code_colors'
import './code.css'

/** How long the button says that it copied, in milliseconds. */
const COPIED_MS = 1500

/** How long a picture waits for the next key, in milliseconds. */
const PREVIEW_MS = 200

const LIST_ID = 'code-language-names'

type Preview = (target: HTMLElement, source: string) => Promise<void>

const PREVIEWS: Record<string, Preview> = {
  mermaid: async (target, source) => (await import('./mermaid')).showDiagram(target, source),
  math: async (target, source) => (await import('./math')).showMath(target, source, true),
}

/** Fills the list of names that all choosers share. */
async function offerLanguages(): Promise<void> {
  if (document.getElementById(LIST_ID) !== null) return
  const list = document.createElement('datalist')
  list.id = LIST_ID
  document.body.append(list)
  const { languageNames } = await import('./code_languages')
  list.append(...languageNames().map((name) => new Option(name, name)))
}

class CodeView implements NodeView {
  readonly dom = document.createElement('div')
  readonly contentDOM = document.createElement('code')
  private readonly head = document.createElement('div')
  private readonly chooser = document.createElement('input')
  private readonly preview = document.createElement('div')
  private shown = ''
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private node: Node,
    private readonly view: EditorView,
    private readonly position: () => number | undefined,
  ) {
    this.dom.className = 'code-block'
    this.head.className = 'code-head'
    this.head.contentEditable = 'false'
    this.preview.className = 'code-preview'
    this.preview.contentEditable = 'false'
    this.preview.addEventListener('mousedown', (event) => this.enter(event))
    const pre = document.createElement('pre')
    pre.append(this.contentDOM)
    this.contentDOM.spellcheck = false
    this.head.append(this.makeChooser(), this.makeCopyButton())
    this.dom.append(this.head, pre, this.preview)
    this.render()
  }

  update(node: Node): boolean {
    if (node.type !== this.node.type) return false
    this.node = node
    this.render()
    return true
  }

  stopEvent({ target }: Event): boolean {
    return target instanceof globalThis.Node && !this.contentDOM.contains(target)
  }

  ignoreMutation({ target }: { target: globalThis.Node }): boolean {
    return !this.contentDOM.contains(target)
  }

  destroy(): void {
    clearTimeout(this.timer)
  }

  private makeChooser(): HTMLElement {
    const { chooser } = this
    chooser.setAttribute('list', LIST_ID)
    chooser.ariaLabel = t('Language of the code')
    chooser.placeholder = t('Plain text')
    chooser.autocomplete = 'off'
    chooser.spellcheck = false
    chooser.addEventListener('focus', () => {
      void offerLanguages()
      chooser.select()
    })
    chooser.addEventListener('change', () => this.setLanguage(chooser.value.trim()))
    chooser.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== 'Escape') return
      event.preventDefault()
      if (event.key === 'Escape') chooser.value = codeLanguage(this.node)
      else this.setLanguage(chooser.value.trim())
      this.enter(event)
    })
    return chooser
  }

  private makeCopyButton(): HTMLElement {
    const button = document.createElement('button')
    const show = (icon: typeof Copy, label: string) => {
      button.replaceChildren(makeIcon(icon))
      button.ariaLabel = button.title = label
    }
    button.type = 'button'
    show(Copy, t('Copy the code'))
    button.addEventListener('click', () => {
      void navigator.clipboard.writeText(this.node.textContent).then(() => {
        show(Check, t('Copied'))
        setTimeout(() => show(Copy, t('Copy the code')), COPIED_MS)
      })
    })
    return button
  }

  private setLanguage(name: string): void {
    const at = this.position()
    if (at === undefined || name === codeLanguage(this.node) || !this.view.editable) return
    const attribute = 'language' in this.node.attrs ? 'language' : 'params'
    this.view.dispatch(this.view.state.tr.setNodeAttribute(at, attribute, name))
  }

  /** Puts the caret into the code. */
  private enter(event: Event): void {
    const at = this.position()
    if (at === undefined || !this.view.editable) return
    event.preventDefault()
    const { state } = this.view
    this.view.dispatch(state.tr.setSelection(TextSelection.create(state.doc, at + 1)))
    this.view.focus()
  }

  private render(): void {
    const language = codeLanguage(this.node)
    if (document.activeElement !== this.chooser) this.chooser.value = language
    this.chooser.disabled = !this.view.editable
    this.dom.dataset['language'] = language
    const show = PREVIEWS[language]
    const source = this.node.textContent
    this.dom.classList.toggle('has-preview', show !== undefined && source.trim() !== '')
    const wanted = show === undefined ? '' : `${language} ${source}`
    if (wanted === this.shown) return
    const isFirst = this.shown === ''
    this.shown = wanted
    clearTimeout(this.timer)
    if (show === undefined) this.preview.replaceChildren()
    else this.timer = setTimeout(() => this.showPreview(show, source), isFirst ? 0 : PREVIEW_MS)
  }

  private showPreview(show: Preview, source: string): void {
    const { shown } = this
    const target = document.createElement('div')
    const finish = () => {
      if (shown === this.shown) this.preview.replaceChildren(target)
    }
    show(target, source).then(finish, (error: unknown) => {
      target.className = 'preview-error'
      target.textContent = error instanceof Error ? error.message : String(error)
      finish()
    })
  }
}

/** Shows blocks of code; the one with the caret is marked. */
export function codeView(): Plugin {
  return new Plugin({
    props: {
      nodeViews: { code_block: (node, view, position) => new CodeView(node, view, position) },
      decorations: ({ doc, selection: { $from } }) => {
        if ($from.parent.type.spec.code !== true) return null
        const [from, to] = [$from.before(), $from.after()]
        return DecorationSet.create(doc, [Decoration.node(from, to, { class: 'is-active' })])
      },
    },
  })
}
