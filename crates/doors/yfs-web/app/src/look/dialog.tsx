// A dialog above the page: it takes the focus, gives it back, and closes by Escape or a click
// beside it. The browser's own `<dialog>` makes what is behind it inert.

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { X } from 'lucide'
import { t } from '../language/translate'
import { Icon } from './icon'
import './dialog.css'

export interface DialogProps {
  /** The name, which is shown above the content unless `isBare`. */
  title: string
  onClose: () => void
  children: ComponentChildren
  /** Without a head: the content has its own. */
  isBare?: boolean
  /** `side` is a drawer at the end of the line. */
  form?: 'center' | 'wide' | 'side'
}

export function Dialog({ title, onClose, children, isBare, form = 'center' }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => {
    const element = dialog.current!
    const before = document.activeElement
    element.showModal()
    return () => {
      element.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={`dialog is-${form}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) onClose()
      }}
      onKeyDown={(event) => {
        // What lies below stays open.
        if (event.key === 'Escape') event.stopPropagation()
      }}
    >
      <div class="dialog-content">
        {isBare !== true && (
          <header class="dialog-head">
            <h2>{title}</h2>
            <button type="button" class="plain" aria-label={t('Close')} onClick={onClose}>
              <Icon of={X} />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  )
}
