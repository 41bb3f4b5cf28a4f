// Binds a ProseMirror view to a fragment, with cursors, undo and pictures.

import { dropCursor } from '@milkdown/kit/prose/dropcursor'
import { gapCursor } from '@milkdown/kit/prose/gapcursor'
import { keydownHandler } from 'prosemirror-keymap'
import { Plugin } from 'prosemirror-state'
import {
  defaultDeleteFilter,
  defaultProtectedNodes,
  redo,
  undo,
  yCursorPlugin,
  ySyncPlugin,
  ySyncPluginKey,
  yUndoPlugin,
} from 'y-prosemirror'
import * as Y from 'yjs'
import { caretKey, makeCaretLabel } from '../../people/caret_label'
import { CARRIED } from '../caret/carry_caret'
import { richFind } from '../find/rich_find'
import type { MountOptions } from '../mounted_editor'
import { showBriefly } from '../notice'
import { blockWindow } from './block_window'
import { blockPlugins } from './blocks/block_plugins'
import { formatPlugins } from './format'
import { imageKeys, ImageLoader, ImageView } from './image_view'
import { richClicks } from './rich_clicks'
import type { RichView } from './rich_view'
import { slashMenu } from './slash_menu'
import { trimTrailingSpace } from './trailing_space'
import { uploadImages } from './upload_images'

function renderCursor(user: { name: string; color: string; agent?: boolean }): HTMLElement {
  const cursor = document.createElement('span')
  cursor.className = 'remote-cursor'
  cursor.style.borderColor = user.color
  cursor.dataset['caretOf'] = caretKey(user)
  cursor.append('\u2060', makeCaretLabel(user, 'remote-cursor-name'), '\u2060')
  return cursor
}

/**
 * Returns the undo of a fragment. It takes back all that this view wrote: y-prosemirror's own leaves
 * out a change of a person if a plugin, such as the one of list numbers, added to it.
 */
function undoManagerOf(fragment: Y.XmlFragment): Y.UndoManager {
  return new Y.UndoManager(fragment, {
    trackedOrigins: new Set<unknown>([ySyncPluginKey, CARRIED]),
    deleteFilter: (item) => defaultDeleteFilter(item, defaultProtectedNodes),
  })
}

/** Binds the view; returns a function that releases what the binding holds. */
export function bindView(
  rich: RichView,
  fragment: Y.XmlFragment,
  options: MountOptions,
): () => void {
  const { view, blocks } = rich
  const { workspace, document: opened, path, container } = options
  const images = new ImageLoader(workspace, path)
  const report = (message: string) => showBriefly(options.notices, message)
  const undoKeys = keydownHandler({ 'Mod-z': undo, 'Mod-y': redo, 'Mod-Shift-z': redo })
  const plugins = [
    blockWindow(options.container),
    richFind(options.notices),
    slashMenu(blocks),
    // Cells that are pasted into a table come before what is pasted elsewhere.
    ...blockPlugins(view.state.schema, workspace, path),
    ...formatPlugins(rich, { container, path, report, id: options.id }),
    imageKeys(),
    uploadImages(workspace, path, report),
    richClicks(path),
    trimTrailingSpace(),
    ...view.state.plugins,
    dropCursor({ color: 'var(--accent)', width: 2 }),
    gapCursor(),
    new Plugin({
      props: { nodeViews: { image: (node, of, at) => new ImageView(node, images, of, at) } },
    }),
    ySyncPlugin(fragment),
    yCursorPlugin(opened.awareness, { cursorBuilder: renderCursor }),
    yUndoPlugin({ undoManager: undoManagerOf(fragment) }),
    new Plugin({ props: { handleKeyDown: undoKeys } }),
  ]
  view.updateState(view.state.reconfigure({ plugins }))
  return () => {
    opened.awareness.setLocalStateField('cursor', null)
    images.destroy()
  }
}
