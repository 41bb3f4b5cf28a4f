// The place of the editor, which is loaded when the first file is opened.

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { EditorHandle } from '../editors'
import type { Session } from '../session/workspace'
import { editorHead, openEditorHandle, openHeading, openLine } from './view_state'

export interface EditorPaneProps {
  session: Session
  /** The file; another one needs a pane of its own. */
  id: string
}

export function EditorPane({ session, id }: EditorPaneProps) {
  const editor = useRef<EditorHandle | null>(null)
  const container = useRef<HTMLDivElement>(null)
  const [line, heading] = [openLine.value, openHeading.value]
  // Before the next key: the file before takes none from now on.
  useLayoutEffect(() => {
    let handle: EditorHandle | null = null
    let isGone = false
    void import('../editors').then(({ openEditor }) => {
      if (isGone) return
      const path = session.pathOf(id) ?? ''
      handle = openEditor({
        id,
        path,
        workspace: session,
        container: container.current!,
        head: editorHead.peek()!,
        ...(line !== null && { at: { line } }),
      })
      editor.current = handle
      openEditorHandle.value = handle
      if (heading !== null) handle.revealHeading?.(heading)
      // A person who goes on in the tree, or types a name there, keeps the focus.
      if (!document.activeElement?.closest('.tree')) handle.focus()
    })
    return () => {
      isGone = true
      handle?.destroy()
      editor.current = null
      openEditorHandle.value = null
    }
  }, [])
  useEffect(() => {
    if (line !== null) editor.current?.reveal(line)
    if (heading !== null) editor.current?.revealHeading?.(heading)
  }, [line, heading])
  return <div ref={container} class="editor-pane" />
}
