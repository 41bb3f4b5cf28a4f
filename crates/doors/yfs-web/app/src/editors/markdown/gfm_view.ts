// Milkdown with its presets commonmark and gfm: the profile `gfm`.

import { commandsCtx, Editor, editorViewCtx, rootCtx, type CmdKey } from '@milkdown/kit/core'
import { clipboard } from '@milkdown/kit/plugin/clipboard'
import {
  commonmark,
  createCodeBlockCommand,
  insertHrCommand,
  syncHeadingIdPlugin,
  turnIntoTextCommand,
  wrapInBlockquoteCommand,
  wrapInBulletListCommand,
  wrapInHeadingCommand,
  wrapInOrderedListCommand,
} from '@milkdown/kit/preset/commonmark'
import { gfm, insertTableCommand } from '@milkdown/kit/preset/gfm'
import { isInTable } from '@milkdown/kit/prose/tables'
import type { Command } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { alertBlocks } from './blocks/alerts'
import { tableBlocks } from './blocks/tables'
import { headingIds } from './heading_ids'
import { limitListOrder } from './list_order'
import { destroyView, type BlockCommand, type RichView } from './rich_view'

/** Makes the item around the cursor a task. */
const makeTask: Command = (state, dispatch) => {
  const { $from } = state.selection
  for (let depth = $from.depth; depth > 0; depth--) {
    const item = $from.node(depth)
    if (item.type.name !== 'list_item') continue
    dispatch?.(
      state.tr.setNodeMarkup($from.before(depth), undefined, { ...item.attrs, checked: false }),
    )
    return true
  }
  return false
}

const outsideTable = (view: EditorView) => !isInTable(view.state)

function blocks(editor: Editor): BlockCommand[] {
  const call =
    <T>(key: CmdKey<T>, payload?: T): Command =>
    () =>
      editor.ctx.get(commandsCtx).call(key, payload)
  const heading = (level: number) => call(wrapInHeadingCommand.key, level)
  const bulletList = call(wrapInBulletListCommand.key)
  const taskList: Command = (state, dispatch, view) => {
    if (view === undefined) return false
    if (!makeTask(state, undefined)) bulletList(state, dispatch, view)
    return makeTask(view.state, view.dispatch)
  }
  const outside = { isEnabled: outsideTable }
  return [
    { label: 'Text', words: 'paragraph', hint: '', run: call(turnIntoTextCommand.key), ...outside },
    { label: 'Heading 1', words: 'title h1', hint: '#', run: heading(1), ...outside },
    { label: 'Heading 2', words: 'h2', hint: '##', run: heading(2), ...outside },
    { label: 'Heading 3', words: 'h3', hint: '###', run: heading(3), ...outside },
    { label: 'Bullet list', words: 'unordered ul', hint: '-', run: bulletList, ...outside },
    {
      label: 'Numbered list',
      words: 'ordered ol',
      hint: '1.',
      run: call(wrapInOrderedListCommand.key),
      ...outside,
    },
    { label: 'Task list', words: 'todo checkbox', hint: '[ ]', run: taskList, ...outside },
    {
      label: 'Quote',
      words: 'blockquote',
      hint: '>',
      run: call(wrapInBlockquoteCommand.key),
      ...outside,
    },
    {
      label: 'Code',
      words: 'fence',
      hint: '```',
      run: call(createCodeBlockCommand.key),
      ...outside,
    },
    {
      label: 'Table',
      words: 'grid',
      hint: '|3x3|',
      run: call(insertTableCommand.key, { row: 3, col: 3 }),
      ...outside,
    },
    { label: 'Rule', words: 'divider hr', hint: '---', run: call(insertHrCommand.key), ...outside },
    ...alertBlocks(),
    ...tableBlocks(),
  ]
}

export async function createGfmView(root: HTMLElement): Promise<RichView> {
  const editor = await Editor.make()
    .config((ctx) => ctx.set(rootCtx, root))
    .use(commonmark.filter((plugin) => plugin !== syncHeadingIdPlugin))
    .use(headingIds)
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
  return { view, blocks: blocks(editor), destroy }
}
