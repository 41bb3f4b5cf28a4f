// What blocks have beside their text: tools, colors, pictures.

import type { Schema } from 'prosemirror-model'
import type { Plugin } from 'prosemirror-state'
import { codeColors } from './code_colors'
import { codeKeys } from './code_keys'
import { codeView } from './code_view'
import { tablePlugin } from './tables'

/** Returns the plugins of the blocks that a schema has. */
export function blockPlugins(schema: Schema): Plugin[] {
  const tables = schema.nodes['table'] === undefined ? [] : [tablePlugin()]
  return [...tables, codeColors(), codeKeys(), codeView()]
}
