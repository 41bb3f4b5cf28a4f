// What blocks have beside their text: tools, colors, pictures.

import type { Schema } from 'prosemirror-model'
import type { Plugin } from 'prosemirror-state'
import { tablePlugin } from './tables'

/** Returns the plugins of the blocks that a schema has. */
export function blockPlugins(schema: Schema): Plugin[] {
  return [...(schema.nodes['table'] === undefined ? [] : [tablePlugin()])]
}
