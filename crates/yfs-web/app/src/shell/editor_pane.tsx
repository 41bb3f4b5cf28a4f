// The place of the editor, which is loaded when the first file is opened.

import { useEffect, useRef } from 'preact/hooks'
import type { EditorHandle } from '../editors'
import type { Session } from '../session/workspace'

export interface EditorPaneProps {
  session: Session
  id: string
}

export function EditorPane({ session, id }: EditorPaneProps) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    let handle: EditorHandle | null = null
    let isGone = false
    void import('../editors').then(({ openEditor }) => {
      if (isGone) return
      const path = session.pathOf(id) ?? ''
      handle = openEditor({ id, path, workspace: session, container: container.current! })
      handle.focus()
    })
    return () => {
      isGone = true
      handle?.destroy()
      container.current?.replaceChildren()
    }
  }, [id])
  return <div ref={container} class="editor-pane" />
}
