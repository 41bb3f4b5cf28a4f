// Whether an editor's schema can build a fragment.
//
// y-prosemirror deletes from the shared document, for everyone, each element that its schema cannot
// build. So a document that does not fit is never bound; it is shown as source.

import type { Attrs, Mark, Node, Schema } from 'prosemirror-model'
import * as Y from 'yjs'

/** The name of a mark is its key without the hash that overlapping marks have. */
const HASHED_MARK = /(.*)(--[a-zA-Z0-9+/=]{8})$/

function marksOf(schema: Schema, formats: Record<string, unknown>): Mark[] {
  return Object.entries(formats).flatMap(([key, attributes]) => {
    if (key === 'ychange' || attributes === null) return []
    const name = HASHED_MARK.exec(key)?.[1] ?? key
    return [schema.mark(name, typeof attributes === 'object' ? (attributes as Attrs) : {})]
  })
}

function textNodes(schema: Schema, text: Y.XmlText): Node[] {
  const delta = text.toDelta() as { insert: unknown; attributes?: Record<string, unknown> }[]
  return delta.flatMap(({ insert, attributes = {} }) => {
    if (typeof insert !== 'string') throw new Error('an embedded object in a text')
    return insert === '' ? [] : [schema.text(insert, marksOf(schema, attributes))]
  })
}

function buildChildren(schema: Schema, parent: Y.XmlFragment | Y.XmlElement): Node[] {
  return parent.toArray().flatMap((child) => {
    if (child instanceof Y.XmlText) return textNodes(schema, child)
    if (child instanceof Y.XmlElement) return [buildElement(schema, child)]
    throw new Error('an unknown kind of content')
  })
}

function buildElement(schema: Schema, element: Y.XmlElement): Node {
  return schema.node(
    element.nodeName,
    element.getAttributes() as Attrs,
    buildChildren(schema, element),
  )
}

/** Returns why the schema cannot build the fragment; null if it can. */
export function fragmentProblem(fragment: Y.XmlFragment, schema: Schema): string | null {
  if (fragment.length === 0) return null
  try {
    if (fragment.toArray().some((child) => child instanceof Y.XmlText)) {
      return 'a text outside of every block'
    }
    schema.topNodeType.createChecked(null, buildChildren(schema, fragment)).check()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Returns the block, a child of the fragment, that a type is in; null for the fragment itself. */
function blockOf(type: Y.AbstractType<unknown>, fragment: Y.XmlFragment): Y.XmlElement | null {
  let block: Y.AbstractType<unknown> | null = type
  while (block !== null && block.parent !== fragment) block = block.parent
  return block instanceof Y.XmlElement ? block : null
}

/** Returns why the schema cannot build the blocks that events changed; null if it can. */
export function changeProblem(
  events: Y.YEvent<Y.AbstractType<unknown>>[],
  fragment: Y.XmlFragment,
  schema: Schema,
): string | null {
  const blocks = new Set<Y.XmlElement>()
  for (const { target, changes } of events) {
    const block = blockOf(target, fragment)
    if (block !== null) blocks.add(block)
    if (target !== fragment) continue
    for (const { content } of changes.added) {
      for (const added of content.getContent() as unknown[]) {
        if (!(added instanceof Y.XmlElement)) return 'a text outside of every block'
        blocks.add(added)
      }
    }
  }
  try {
    for (const block of blocks) buildElement(schema, block).check()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
