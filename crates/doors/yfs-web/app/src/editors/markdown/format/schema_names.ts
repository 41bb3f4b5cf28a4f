// The marks and blocks of both profiles, whose schemas name them differently.

import type { MarkType, NodeType, Schema } from 'prosemirror-model'

export interface RichNames {
  bold: MarkType
  italic: MarkType
  code: MarkType
  link: MarkType
  /** Only in the profile `gfm`. */
  strike: MarkType | undefined
  paragraph: NodeType
  heading: NodeType
  quote: NodeType
  bullets: NodeType
  numbers: NodeType
  item: NodeType
  codeBlock: NodeType
  image: NodeType
  /** Only in the profile `gfm`. */
  table: NodeType | undefined
  hasTasks: boolean
}

const known = new WeakMap<Schema, RichNames>()

/** Returns the marks and blocks of a schema. */
export function namesOf(schema: Schema): RichNames {
  const before = known.get(schema)
  if (before !== undefined) return before
  const { marks, nodes } = schema
  const names: RichNames = {
    bold: marks['strong']!,
    italic: (marks['emphasis'] ?? marks['em'])!,
    code: (marks['inlineCode'] ?? marks['code'])!,
    link: marks['link']!,
    strike: marks['strike_through'],
    paragraph: nodes['paragraph']!,
    heading: nodes['heading']!,
    quote: nodes['blockquote']!,
    bullets: nodes['bullet_list']!,
    numbers: nodes['ordered_list']!,
    item: nodes['list_item']!,
    codeBlock: nodes['code_block']!,
    image: nodes['image']!,
    table: nodes['table'],
    hasTasks: 'checked' in (nodes['list_item']!.spec.attrs ?? {}),
  }
  known.set(schema, names)
  return names
}
