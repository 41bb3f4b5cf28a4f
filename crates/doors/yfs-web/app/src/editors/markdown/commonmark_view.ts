// ProseMirror with the schema of prosemirror-markdown: the profile `commonmark`.

import {
  baseKeymap,
  chainCommands,
  exitCode,
  joinUp,
  lift,
  setBlockType,
  toggleMark,
  wrapIn,
} from 'prosemirror-commands'
import {
  emDash,
  ellipsis,
  InputRule,
  inputRules,
  textblockTypeInputRule,
  wrappingInputRule,
} from 'prosemirror-inputrules'
import { keymap } from 'prosemirror-keymap'
import { schema } from 'prosemirror-markdown'
import type { MarkType, NodeType } from 'prosemirror-model'
import { liftListItem, sinkListItem, splitListItem, wrapInList } from 'prosemirror-schema-list'
import { EditorState, type Command, type Plugin } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import { alertBlocks } from './blocks/alerts'
import { destroyView, type BlockCommand, type RichView } from './rich_view'

const node = (name: string): NodeType => schema.nodes[name]!
const mark = (name: string): MarkType => schema.marks[name]!

/** Lists without blank lines between their items. */
const TIGHT = { tight: true }

const insert =
  (type: NodeType): Command =>
  (state, dispatch) => {
    dispatch?.(state.tr.replaceSelectionWith(type.create()).scrollIntoView())
    return true
  }

const lineBreak = chainCommands(exitCode, insert(node('hard_break')))

function keys(): Record<string, Command> {
  const bindings: Record<string, Command> = {
    'Mod-b': toggleMark(mark('strong')),
    'Mod-i': toggleMark(mark('em')),
    'Mod-e': toggleMark(mark('code')),
    'Mod-Enter': lineBreak,
    'Shift-Enter': lineBreak,
    'Alt-ArrowUp': joinUp,
    'Mod-BracketLeft': lift,
    Enter: splitListItem(node('list_item')),
    Tab: sinkListItem(node('list_item')),
    'Shift-Tab': liftListItem(node('list_item')),
    'Mod-Alt-0': setBlockType(node('paragraph')),
    'Mod-Alt-c': setBlockType(node('code_block')),
    'Mod-Shift-b': wrapIn(node('blockquote')),
    'Mod-Alt-7': wrapInList(node('ordered_list'), TIGHT),
    'Mod-Alt-8': wrapInList(node('bullet_list'), TIGHT),
  }
  for (let level = 1; level <= 6; level++) {
    bindings[`Mod-Alt-${level}`] = setBlockType(node('heading'), { level })
  }
  return bindings
}

/** Makes text between delimiters that were just closed a mark. */
function markRule(pattern: RegExp, type: MarkType): InputRule {
  return new InputRule(pattern, (state, match, start, end) => {
    const [whole, lead = '', text = ''] = match
    if (text === '') return null
    const from = start + lead.length
    const tr = state.tr.delete(from, end).insertText(text, from)
    tr.addMark(from, from + text.length, type.create()).removeStoredMark(type)
    return whole === '' ? null : tr
  })
}

function rules(): Plugin {
  const level = (match: RegExpMatchArray) => ({ level: match[1]!.length })
  return inputRules({
    rules: [
      ellipsis,
      emDash,
      wrappingInputRule(/^\s*>\s$/, node('blockquote')),
      wrappingInputRule(/^(\d+)\.\s$/, node('ordered_list'), (match) => ({
        order: Number(match[1]),
        ...TIGHT,
      })),
      wrappingInputRule(/^\s*([-+*])\s$/, node('bullet_list'), TIGHT),
      textblockTypeInputRule(/^```$/, node('code_block')),
      textblockTypeInputRule(/^(#{1,6})\s$/, node('heading'), level),
      markRule(/(^|\s)\*\*([^*]+)\*\*$/, mark('strong')),
      markRule(/(^|[^*])\*([^*\s][^*]*)\*$/, mark('em')),
      markRule(/(^|\s)`([^`]+)`$/, mark('code')),
    ],
  })
}

function blocks(): BlockCommand[] {
  const heading = (level: number) => setBlockType(node('heading'), { level })
  return [
    { label: 'Text', words: 'paragraph', hint: '', run: setBlockType(node('paragraph')) },
    { label: 'Heading 1', words: 'title h1', hint: '#', run: heading(1) },
    { label: 'Heading 2', words: 'h2', hint: '##', run: heading(2) },
    { label: 'Heading 3', words: 'h3', hint: '###', run: heading(3) },
    {
      label: 'Bullet list',
      words: 'unordered ul',
      hint: '-',
      run: wrapInList(node('bullet_list'), TIGHT),
    },
    {
      label: 'Numbered list',
      words: 'ordered ol',
      hint: '1.',
      run: wrapInList(node('ordered_list'), TIGHT),
    },
    { label: 'Quote', words: 'blockquote', hint: '>', run: wrapIn(node('blockquote')) },
    { label: 'Code', words: 'fence pre', hint: '```', run: setBlockType(node('code_block')) },
    { label: 'Rule', words: 'divider line hr', hint: '---', run: insert(node('horizontal_rule')) },
    ...alertBlocks(),
  ]
}

export function createCommonmarkView(root: HTMLElement): RichView {
  const state = EditorState.create({
    schema,
    plugins: [rules(), keymap(keys()), keymap(baseKeymap)],
  })
  const view = new EditorView(root, { state })
  return { view, blocks: blocks(), destroy: () => destroyView(view) }
}
