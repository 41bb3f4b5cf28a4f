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
import { defaultMarkdownParser, MarkdownParser, schema as plain } from 'prosemirror-markdown'
import { Schema, type MarkType, type NodeSpec, type NodeType } from 'prosemirror-model'
import { liftListItem, sinkListItem, splitListItem, wrapInList } from 'prosemirror-schema-list'
import { EditorState, type Command, type Plugin } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import { t } from '../../language/translate'
import { alertBlocks } from './blocks/alerts'
import { destroyView, type BlockCommand, type RichView } from './rich_view'

/**
 * Lets the first letter of a block decide its direction. A style sheet does it for paragraphs: an
 * attribute of theirs would hide their letters from the list around them.
 */
function withDirection(): Schema {
  let { nodes } = plain.spec
  const show: Record<string, NodeSpec['toDOM']> = {
    blockquote: () => ['blockquote', { dir: 'auto' }, 0],
    bullet_list: ({ attrs }) => ['ul', { dir: 'auto', 'data-tight': attrs['tight'] || null }, 0],
    ordered_list: ({ attrs }) => {
      const start = attrs['order'] === 1 ? null : attrs['order']
      return ['ol', { dir: 'auto', start, 'data-tight': attrs['tight'] || null }, 0]
    },
    heading: ({ attrs }) => [`h${attrs['level']}`, { dir: 'auto' }, 0],
  }
  for (const [name, toDOM] of Object.entries(show)) {
    nodes = nodes.update(name, { ...nodes.get(name)!, toDOM: toDOM! })
  }
  return new Schema({ nodes, marks: plain.spec.marks })
}

const schema = withDirection()

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
    { label: t('Text'), words: 'paragraph', hint: '', run: setBlockType(node('paragraph')) },
    { label: t('Heading 1'), words: 'title h1', hint: '#', run: heading(1) },
    { label: t('Heading 2'), words: 'h2', hint: '##', run: heading(2) },
    { label: t('Heading 3'), words: 'h3', hint: '###', run: heading(3) },
    {
      label: t('Bullet list'),
      words: 'unordered ul',
      hint: '-',
      run: wrapInList(node('bullet_list'), TIGHT),
    },
    {
      label: t('Numbered list'),
      words: 'ordered ol',
      hint: '1.',
      run: wrapInList(node('ordered_list'), TIGHT),
    },
    { label: t('Quote'), words: 'blockquote', hint: '>', run: wrapIn(node('blockquote')) },
    { label: t('Code'), words: 'fence pre', hint: '```', run: setBlockType(node('code_block')) },
    {
      label: t('Rule'),
      words: 'divider line hr',
      hint: '---',
      run: insert(node('horizontal_rule')),
    },
    ...alertBlocks(),
  ]
}

export function createCommonmarkView(root: HTMLElement): RichView {
  const state = EditorState.create({
    schema,
    plugins: [rules(), keymap(keys()), keymap(baseKeymap)],
  })
  const view = new EditorView(root, { state })
  const { tokenizer, tokens } = defaultMarkdownParser
  const parser = new MarkdownParser(schema, tokenizer, tokens)
  const parseMarkdown = (markdown: string) => parser.parse(markdown)
  return { view, blocks: blocks(), parseMarkdown, destroy: () => destroyView(view) }
}
