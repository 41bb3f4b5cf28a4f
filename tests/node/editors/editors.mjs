// Live editors, bound to an `XmlFragment` as people's pages bind them.

import './dom.mjs'

/** y-prosemirror with the schema of prosemirror-markdown. */
async function prosemirror() {
  const { schema } = await import('prosemirror-markdown')
  const { EditorState } = await import('prosemirror-state')
  const { EditorView } = await import('prosemirror-view')
  const { ySyncPlugin } = await import('y-prosemirror')
  return async (fragment) => {
    const state = EditorState.create({ schema, plugins: [ySyncPlugin(fragment)] })
    const view = new EditorView(document.createElement('div'), { state })
    return { view, close: () => view.destroy() }
  }
}

/** Milkdown with the presets commonmark and gfm, and its plugin for Yjs. */
async function milkdown() {
  const { Editor, editorViewCtx, rootCtx } = await import('@milkdown/core')
  const { commonmark } = await import('@milkdown/preset-commonmark')
  const { gfm } = await import('@milkdown/preset-gfm')
  const { collab, collabServiceCtx } = await import('@milkdown/plugin-collab')
  return async (fragment) => {
    const root = document.createElement('div')
    const editor = Editor.make().config((ctx) => ctx.set(rootCtx, root))
    await editor.use(commonmark).use(gfm).use(collab).create()
    editor.ctx.get(collabServiceCtx).bindXmlFragment(fragment).connect()
    return { view: editor.ctx.get(editorViewCtx), close: () => editor.destroy() }
  }
}

/** Returns a function that opens an editor of a profile on a fragment. */
export const editorOf = (profile) => (profile === 'gfm' ? milkdown() : prosemirror())

/** Returns schema, parser and serialiser of a profile's editor. */
export async function pipelineOf(profile) {
  if (profile !== 'gfm') {
    const { schema, defaultMarkdownParser, defaultMarkdownSerializer } =
      await import('prosemirror-markdown')
    const parse = (text) => defaultMarkdownParser.parse(text)
    return { schema, parse, serialize: (doc) => defaultMarkdownSerializer.serialize(doc) }
  }
  const { Editor, parserCtx, schemaCtx, serializerCtx } = await import('@milkdown/core')
  const { commonmark } = await import('@milkdown/preset-commonmark')
  const { gfm } = await import('@milkdown/preset-gfm')
  const { ctx } = await Editor.make().use(commonmark).use(gfm).create()
  return {
    schema: ctx.get(schemaCtx),
    parse: ctx.get(parserCtx),
    serialize: ctx.get(serializerCtx),
  }
}
