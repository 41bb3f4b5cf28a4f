// What blocks have beside their text: tools, colors, pictures, links by name.

import type { Schema } from 'prosemirror-model'
import type { Plugin } from 'prosemirror-state'
import type { EditorWorkspace } from '../../../documents'
import { embeds } from '../embeds/embed_plugin'
import './tasks.css'
import { codeColors } from './code_colors'
import { codeKeys } from './code_keys'
import { codeView } from './code_view'
import { footnotes } from './footnotes'
import { inlineLooks } from './inline_looks'
import { tablePlugin } from './tables'
import { wikiCompletion } from './wiki_completion'
import { linkTargets, wikiClicks } from './wiki_links'

/** Returns the plugins of the blocks that a schema has. */
export function blockPlugins(
  schema: Schema,
  workspace: EditorWorkspace,
  path: () => string,
): Plugin[] {
  const tables = schema.nodes['table'] === undefined ? [] : [tablePlugin()]
  const targets = linkTargets(workspace)
  const links = [wikiCompletion(targets), wikiClicks(targets), inlineLooks(targets)]
  const shown = embeds({ workspace, targets, path })
  return [...links, shown, ...tables, ...footnotes(schema), codeColors(), codeKeys(), codeView()]
}
