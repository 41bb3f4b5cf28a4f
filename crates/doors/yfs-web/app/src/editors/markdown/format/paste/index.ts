// Decides what is pasted from other programs, and what the editor pastes itself.

import { Plugin } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import type { RichView } from '../../rich_view'
import type { Pasted } from './paste_content'

type PasteContent = typeof import('./paste_content').pasteContent

/** Reports whether HTML is nothing but a picture, which is uploaded. */
const isPicture = (html: string, data: DataTransfer): boolean =>
  data.files.length > 0 && !/<(?:table|p|li|td|span|h\d)[\s>]/i.test(html)

function read(view: EditorView, data: DataTransfer | null): Pasted | null {
  if (data === null || !view.editable) return null
  const html = data.getData('text/html')
  const text = data.getData('text/plain')
  if ((html === '' && text === '') || isPicture(html, data)) return null
  // What an editor of this kind copied needs nothing.
  if (html.includes('data-pm-slice')) return null
  if (view.state.selection.$from.parent.type.spec.code === true) return null
  return { html, text, editorData: data.getData('vscode-editor-data') }
}

export function pasteFromPrograms({ parseMarkdown }: RichView): Plugin {
  let pasteContent: PasteContent | null = null
  const loaded = import('./paste_content').then((module) => {
    pasteContent = module.pasteContent
    return module.pasteContent
  })
  return new Plugin({
    props: {
      handlePaste(view, event) {
        const pasted = read(view, event.clipboardData)
        if (pasted === null) return false
        const { shiftKey } = (view as unknown as { input: { shiftKey: boolean } }).input
        if (shiftKey && pasted.html !== '') return view.pasteText(pasted.text)
        if (pasteContent !== null) return pasteContent(view, pasted, parseMarkdown)
        if (pasted.html === '') return false
        void loaded.then((paste) => paste(view, pasted, parseMarkdown))
        return true
      },
    },
  })
}
