// The place of the editor, which is loaded when the first file is opened.

import { useEffect, useRef } from 'preact/hooks'
import type { EditorHandle } from '../editors'
import type { Session } from '../session/workspace'
import { openEditorHandle } from './view_state'

export interface EditorPaneProps {
  session: Session
  id: string
  /** The line to show, from 1. */
  line: number | null
}

export function EditorPane({ session, id, line }: EditorPaneProps) {
  const editor = useRef<EditorHandle | null>(null)
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let handle: EditorHandle | null = null
    let isGone = false
    void import('../editors').then(({ openEditor }) => {
      if (isGone) return
      const path = session.pathOf(id) ?? ''
      const at = line === null ? {} : { at: { line } }
      handle = openEditor({ id, path, workspace: session, container: container.current!, ...at })
      editor.current = handle
      openEditorHandle.value = handle
      // A person who goes on in the tree, or types a name there, keeps the focus.
      if (!document.activeElement?.closest('.tree')) handle.focus()
    })
    return () => {
      isGone = true
      handle?.destroy()
      editor.current = null
      openEditorHandle.value = null
      container.current?.replaceChildren()
    }
  }, [id])
  useEffect(() => {
    if (line !== null) editor.current?.reveal(line)
  }, [line])
  return <div ref={container} class="editor-pane" />
}
