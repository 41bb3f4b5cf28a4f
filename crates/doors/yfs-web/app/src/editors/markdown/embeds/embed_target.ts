// Which paragraphs show a file: an image or a link alone in a paragraph, or `![[file]]`.

import type { Node } from 'prosemirror-model'
import type { EditorWorkspace } from '../../../documents'
import { t } from '../../../language/translate'
import type { LinkTargets } from '../blocks/wiki_links'
import { resolveReference } from '../workspace_path'

export type EmbedKind = 'table' | 'picture' | 'text'

/** What a paragraph says that it shows. */
export interface EmbedReference {
  syntax: 'image' | 'link' | 'wiki'
  /** A path, or the name of a page. */
  reference: string
}

/** The file that is shown, or why it is not. */
export type EmbedTarget =
  { id: string; path: string; kind: EmbedKind } | { problem: string; reference: string }

const WIKI = /^!\[\[([^[\]|\n\r\ufffc]+)(?:\|[^[\]\n\r\ufffc]+)?\]\]$/
const RASTER = /\.(png|jpe?g|gif|webp|avif|bmp|ico)$/i

const bare = (reference: string) => reference.replace(/[?#].*$/, '')

/** Reports whether an image with this source is a file that is shown by another view. */
export function isEmbedSource(source: string): boolean {
  const isHere = !/^[a-z][a-z0-9+.-]*:/i.test(source) && !source.startsWith('//')
  const extension = /\.([a-z0-9]+)$/i.exec(bare(source))
  return isHere && extension !== null && !RASTER.test(bare(source)) && !/\.svg$/i.test(bare(source))
}

const known = new WeakMap<Node, EmbedReference | null>()

/** Returns what a block of the document shows; null for most of them. */
export function embedIn(block: Node): EmbedReference | null {
  let found = known.get(block)
  if (found === undefined) known.set(block, (found = readEmbed(block)))
  return found
}

function readEmbed(block: Node): EmbedReference | null {
  const { firstChild: first } = block
  if (block.type.name !== 'paragraph' || first === null) return null
  if (first.type.name === 'image') {
    const reference = String(first.attrs['src'] ?? '')
    return block.childCount === 1 && isEmbedSource(reference)
      ? { syntax: 'image', reference }
      : null
  }
  if (!first.isText) return null
  const wiki = first.text!.startsWith('![[') ? WIKI.exec(textOf(block)) : null
  if (wiki !== null) return { syntax: 'wiki', reference: wiki[1]!.trim() }
  const href: unknown = first.marks.find(({ type }) => type.name === 'link')?.attrs['href']
  if (typeof href !== 'string' || href.includes('#')) return null
  let isWhole = true
  block.forEach(({ isText, marks }) => {
    isWhole &&= isText && marks.some(({ attrs }) => attrs['href'] === href)
  })
  return isWhole && isEmbedOfLink(href) ? { syntax: 'link', reference: href } : null
}

const textOf = (block: Node) => block.textBetween(0, block.content.size, '\ufffc', '\ufffc')

/** A link alone in a paragraph leads to a document more often than it shows one. */
const isEmbedOfLink = (href: string) =>
  (isEmbedSource(href) && !/\.(md|markdown)$/i.test(bare(href))) || /\.svg$/i.test(bare(href))

function kindOf(path: string): EmbedKind {
  if (/\.(csv|tsv)$/i.test(path)) return 'table'
  return /\.svg$/i.test(path) || RASTER.test(path) ? 'picture' : 'text'
}

/** Returns the file that a paragraph shows, or why none; null for a link that only leads. */
export function resolveEmbed(
  { syntax, reference }: EmbedReference,
  filePath: string,
  workspace: EditorWorkspace,
  targets: LinkTargets,
): EmbedTarget | null {
  const path =
    syntax === 'wiki' ? targets.find(reference) : resolveReference(filePath, bare(reference))
  if (path === null) {
    return { problem: t('No file has the name {name}', { name: reference }), reference }
  }
  const scope = workspace.scope ?? '/'
  if (scope !== '/' && path !== scope && !path.startsWith(`${scope}/`)) {
    return { problem: t('{path} is outside of what you can see.', { path: reference }), reference }
  }
  const row = targets.rowAt(path)
  if (row === null) {
    if (syntax === 'link') return null
    return { problem: t('There is no file {path}.', { path }), reference }
  }
  const kind = kindOf(path)
  const isBytes = row.blob !== null && row.blob !== undefined
  if (isBytes && kind !== 'picture') {
    if (syntax === 'link') return null
    return { problem: t('{path} is not text: open it to see it.', { path }), reference }
  }
  return { id: row.id, path, kind }
}
