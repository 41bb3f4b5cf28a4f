// Milkdown with its presets commonmark and gfm: the profile `gfm`.

import {
  commandsCtx,
  Editor,
  editorViewCtx,
  parserCtx,
  rootCtx,
  type CmdKey,
} from '@milkdown/kit/core'
import { clipboard } from '@milkdown/kit/plugin/clipboard'
import {
  blockquoteAttr,
  bulletListAttr,
  commonmark,
  createCodeBlockCommand,
  headingAttr,
  insertHrCommand,
  linkSchema,
  orderedListAttr,
  syncHeadingIdPlugin,
  turnIntoTextCommand,
  wrapInBlockquoteCommand,
  wrapInHeadingCommand,
} from '@milkdown/kit/preset/commonmark'
import { gfm, insertTableCommand } from '@milkdown/kit/preset/gfm'
import { isInTable } from '@milkdown/kit/prose/tables'
import type { Command } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { t } from '../../language/translate'
import { alertBlocks } from './blocks/alerts'
import { canInsertFootnote, insertFootnote } from './blocks/footnote_marks'
import { tableBlocks } from './blocks/tables'
import { turnInto, type BlockKind } from './format/turn_into'
import { headingIds } from './heading_ids'
import { limitListOrder } from './list_order'
import { destroyView, type BlockCommand, type RichView } from './rich_view'

const outsideTable = (view: EditorView) => !isInTable(view.state)

function blocks(editor: Editor): BlockCommand[] {
  const call =
    <T>(key: CmdKey<T>, payload?: T): Command =>
    () =>
      editor.ctx.get(commandsCtx).call(key, payload)
  const heading = (level: number) => call(wrapInHeadingCommand.key, level)
  const turn =
    (kind: BlockKind): Command =>
    (_state, _dispatch, view) => {
      if (view !== undefined) turnInto(view, kind)
      return view !== undefined
    }
  const outside = { isEnabled: outsideTable }
  return [
    {
      label: t('Text'),
      words: 'paragraph',
      hint: '',
      run: call(turnIntoTextCommand.key),
      ...outside,
    },
    { label: t('Heading 1'), words: 'title h1', hint: '#', run: heading(1), ...outside },
    { label: t('Heading 2'), words: 'h2', hint: '##', run: heading(2), ...outside },
    { label: t('Heading 3'), words: 'h3', hint: '###', run: heading(3), ...outside },
    { label: t('Bullet list'), words: 'unordered ul', hint: '-', run: turn('bullets'), ...outside },
    {
      label: t('Numbered list'),
      words: 'ordered ol',
      hint: '1.',
      run: turn('numbers'),
      ...outside,
    },
    { label: t('Task list'), words: 'todo checkbox', hint: '[ ]', run: turn('tasks'), ...outside },
    {
      label: t('Quote'),
      words: 'blockquote',
      hint: '>',
      run: call(wrapInBlockquoteCommand.key),
      ...outside,
    },
    {
      label: t('Code'),
      words: 'fence',
      hint: '```',
      run: call(createCodeBlockCommand.key),
      ...outside,
    },
    {
      label: t('Table'),
      words: 'grid',
      hint: '|3x3|',
      run: call(insertTableCommand.key, { row: 3, col: 3 }),
      ...outside,
    },
    {
      label: t('Rule'),
      words: 'divider hr',
      hint: '---',
      run: call(insertHrCommand.key),
      ...outside,
    },
    {
      label: t('Footnote'),
      words: 'note reference',
      hint: '[^1]',
      run: insertFootnote,
      isEnabled: (view) => canInsertFootnote(view.state),
    },
    ...alertBlocks(),
    ...tableBlocks(),
  ]
}

/** What is typed at the end of a link is not part of it. */
const link = linkSchema.extendSchema((make) => (ctx) => ({ ...make(ctx), inclusive: false }))

export async function createGfmView(root: HTMLElement): Promise<RichView> {
  const editor = await Editor.make()
    .config((ctx) => {
      ctx.set(rootCtx, root)
      // The first letter decides the direction; a style sheet does it for paragraphs, whose
      // attribute would hide their letters from the list around them.
      for (const { key } of [headingAttr, blockquoteAttr, bulletListAttr, orderedListAttr]) {
        ctx.set(key, () => ({ dir: 'auto' }))
      }
    })
    .use(commonmark.filter((plugin) => plugin !== syncHeadingIdPlugin))
    .use(headingIds)
    .use(link)
    .use(gfm)
    .use(clipboard)
    .create()
  const view = editor.ctx.get(editorViewCtx)
  limitListOrder(view)
  const destroy = () => {
    // First the view: its plugins put off transactions, which need the context of Milkdown.
    destroyView(view)
    void editor.destroy()
  }
  const parse = editor.ctx.get(parserCtx)
  const parseMarkdown = (markdown: string) => parse(markdown) || null
  return { view, blocks: blocks(editor), parseMarkdown, destroy }
}
