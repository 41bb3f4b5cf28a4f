// What the status line says of a CodeMirror view, and the settings that its buttons change.

import { signal } from '@preact/signals'
import { LanguageDescription } from '@codemirror/language'
import { languages } from '@codemirror/language-data'
import { gotoLine } from '@codemirror/search'
import { Compartment, type Extension } from '@codemirror/state'
import { EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view'
import { t } from '../../language/translate'
import type { MenuItems } from '../../look/menu'
import { wrapsLines } from '../../settings/settings'
import { mountStatusLine, type StatusPart, type TextStatus } from '../status_line'
import { indentationOf, indentBy, type Indentation } from './indentation'
import { lineEnds } from './text_changes'

const INDENTATIONS: Indentation[] = [2, 4, 8, '\t']

const nameOfIndentation = (indentation: Indentation): string =>
  indentation === '\t' ? t('Tabs') : t('{n} spaces', { n: indentation })

/** The settings of one view: how it is indented and whether its lines are wrapped. */
export class TextStatusLine {
  private readonly indent = new Compartment()
  private readonly wrap = new Compartment()
  private readonly status = signal<TextStatus>({ line: 1, column: 1, nSelected: 0, parts: [] })
  private indentation: Indentation
  private stop: () => void = () => {}

  constructor(
    private name: string,
    text: EditorView['state']['doc'],
    /** Further parts, before the others. */
    private readonly more: (view: EditorView) => StatusPart[] = () => [],
  ) {
    this.indentation = indentationOf(text, name)
  }

  extension(): Extension {
    return [
      this.indent.of(indentBy(this.indentation)),
      this.wrap.of(wrapsLines.peek() === 'on' ? EditorView.lineWrapping : []),
      ViewPlugin.define((view) => {
        queueMicrotask(() => this.refresh(view))
        return { update: (update: ViewUpdate) => this.onUpdate(update) }
      }),
    ]
  }

  mount(view: EditorView, container: HTMLElement): void {
    this.stop = mountStatusLine(container, {
      status: this.status,
      onGoToLine: () => {
        view.focus()
        gotoLine(view)
      },
    })
  }

  rename(name: string, view: EditorView): void {
    this.name = name
    this.refresh(view)
  }

  destroy(): void {
    this.stop()
  }

  private onUpdate(update: ViewUpdate): void {
    if (update.docChanged || update.selectionSet) this.refresh(update.view)
  }

  /** Says anew what holds now. */
  refresh(view: EditorView): void {
    const { doc, selection } = view.state
    const { head, ranges } = { head: selection.main.head, ranges: selection.ranges }
    const line = doc.lineAt(head)
    this.status.value = {
      line: line.number,
      column: head - line.from + 1,
      nSelected: ranges.reduce((sum, { from, to }) => sum + to - from, 0),
      parts: this.parts(view),
    }
  }

  private parts(view: EditorView): StatusPart[] {
    const language = LanguageDescription.matchFilename(languages, this.name)
    const ends = view.state.field(lineEnds, false)?.names ?? 'LF'
    return [
      ...this.more(view),
      { label: nameOfIndentation(this.indentation), choices: () => this.indentChoices(view) },
      {
        label: wrapsLines.value === 'on' ? t('Wrapped') : t('Not wrapped'),
        choices: () => this.wrapChoices(view),
      },
      { label: `UTF-8 ${ends}`, choices: null },
      { label: language?.name ?? t('Plain text'), choices: null },
    ]
  }

  private indentChoices(view: EditorView): MenuItems {
    return INDENTATIONS.map((indentation) => ({
      label: nameOfIndentation(indentation),
      isChecked: indentation === this.indentation,
      run: () => {
        this.indentation = indentation
        view.dispatch({ effects: this.indent.reconfigure(indentBy(indentation)) })
        this.refresh(view)
        view.focus()
      },
    }))
  }

  private wrapChoices(view: EditorView): MenuItems {
    const set = (isOn: boolean) => () => {
      wrapsLines.value = isOn ? 'on' : 'off'
      view.dispatch({ effects: this.wrap.reconfigure(isOn ? EditorView.lineWrapping : []) })
      this.refresh(view)
      view.focus()
    }
    const isOn = wrapsLines.peek() === 'on'
    return [
      { label: t('Wrapped'), isChecked: isOn, run: set(true) },
      { label: t('Not wrapped'), isChecked: !isOn, run: set(false) },
    ]
  }
}
