// The extensions of every CodeMirror view: look, keys, search, several cursors, languages.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  bracketMatching,
  defaultHighlightStyle,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  LanguageDescription,
  syntaxHighlighting,
} from '@codemirror/language'
import { languages } from '@codemirror/language-data'
import { gotoLine, highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, Prec, type Extension } from '@codemirror/state'
import {
  crosshairCursor,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { vimKeys } from '../../settings/settings'
import { textFind } from '../find/text_find'
import type { DocumentSymbols } from '../mounted_editor'
import { bracketColors } from './bracket_colors'

const SELECTION = '.cm-selectionBackground'

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', fontSize: '13px', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--accent)', paddingBlock: '12px' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '.cm-gutters': {
    backgroundColor: 'transparent',
    color: 'var(--text-faint)',
    border: 'none',
    paddingInlineStart: '8px',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  [`&.cm-focused > .cm-scroller > .cm-selectionLayer ${SELECTION}, ${SELECTION}`]: {
    backgroundColor: 'var(--selection)',
  },
  '.cm-panels': { backgroundColor: 'var(--surface)', color: 'var(--text)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--border)' },
  '.cm-textfield': { backgroundColor: 'var(--background)', borderColor: 'var(--border)' },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--hover)',
    borderColor: 'var(--border)',
  },
  '.cm-searchMatch': { backgroundColor: 'var(--match)' },
  '.cm-searchMatch-selected': { outline: '2px solid var(--accent)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--hover)', border: 'none' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', borderColor: 'var(--border)' },
  '.cm-ySelectionInfo': {
    fontFamily: 'var(--font)',
    fontSize: '11px',
    padding: '1px 5px',
    borderRadius: '4px 4px 4px 0',
    opacity: '1',
    color: '#fff',
  },
})

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--code-number)' },
  { tag: [tags.comment, tags.meta], color: 'var(--code-comment)', fontStyle: 'italic' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: 'var(--code-function)',
  },
  { tag: [tags.typeName, tags.className, tags.tagName], color: 'var(--code-type)' },
  { tag: [tags.propertyName, tags.attributeName], color: 'var(--code-property)' },
  { tag: tags.heading, color: 'var(--code-keyword)', fontWeight: 'bold' },
  { tag: tags.link, color: 'var(--accent)' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strong, fontWeight: 'bold' },
])

const bracketTheme = EditorView.theme(
  Object.fromEntries(
    ['function', 'type', 'keyword', 'property', 'number', 'string'].map((name, n) => [
      `.bracket-color-${n + 1}`,
      { color: `var(--code-${name})` },
    ]),
  ),
)

/** The language of a view, which a rename changes in place. */
export class LanguageSlot {
  private readonly slot = new Compartment()
  private name = ''

  extension(): Extension {
    return this.slot.of([])
  }

  /** Ends when the language of the last name is here, if there is one. */
  loaded: Promise<void> = Promise.resolve()

  /** Loads the language that a file name implies. */
  load(view: EditorView, name: string): Promise<void> {
    this.loaded = this.read(view, name)
    return this.loaded
  }

  private async read(view: EditorView, name: string): Promise<void> {
    this.name = name
    const language = LanguageDescription.matchFilename(languages, name)
    const support = language === null ? [] : await language.load().catch(() => [])
    if (this.name === name) view.dispatch({ effects: this.slot.reconfigure(support) })
  }
}

/** What editable and read-only views have in common. */
export function viewExtensions(label: string): Extension[] {
  return [
    theme,
    bracketTheme,
    syntaxHighlighting(highlight),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    lineNumbers(),
    foldGutter(),
    highlightSpecialChars(),
    drawSelection(),
    highlightSelectionMatches(),
    bracketMatching(),
    bracketColors(),
    textFind(),
    EditorState.allowMultipleSelections.of(true),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    keymap.of([
      { key: 'Mod-g', run: gotoLine, preventDefault: true },
      ...searchKeymap,
      ...foldKeymap,
    ]),
  ]
}

/** What editable views have besides. Undo belongs to the binding. */
export function editingExtensions(): Extension[] {
  return [
    dropCursor(),
    indentOnInput(),
    closeBrackets(),
    autocompletion({ activateOnTyping: false }),
    rectangularSelection(),
    crosshairCursor(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, indentWithTab]),
  ]
}

/** The undo of a view without a shared document. */
export const localHistory = (): Extension[] => [history(), keymap.of(historyKeymap)]

/** Moves the cursor to a line and scrolls there; numbers count from 1. */
export function revealLine(view: EditorView, line: number, column = 1): void {
  const { doc } = view.state
  const found = doc.line(Math.min(Math.max(1, line), doc.lines))
  const anchor = Math.min(found.to, found.from + Math.max(0, column - 1))
  view.dispatch({
    selection: { anchor },
    effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
  })
}

/** Reads the symbols of a view. */
export async function symbolsOf(view: EditorView): Promise<DocumentSymbols> {
  return (await import('../symbols/code_symbols')).codeSymbols(view)
}

/** The keys of Vim, loaded when they are wanted. */
export class VimSlot {
  private readonly slot = new Compartment()

  extension(): Extension {
    // Before all other keys.
    return Prec.highest(this.slot.of([]))
  }

  async load(view: EditorView): Promise<void> {
    if (vimKeys.peek() !== 'on') return
    const { vim } = await import('@replit/codemirror-vim')
    view.dispatch({ effects: this.slot.reconfigure(vim({ status: true })) })
  }
}
