// The focus of panels beside the document.

import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Moves the focus to a part of a panel when it opens, and back when it closes with the focus. */
export function useFocus(
  panel: RefObject<HTMLElement | null>,
  first: RefObject<HTMLElement | null>,
): void {
  useLayoutEffect(() => {
    const before = document.activeElement
    const element = panel.current
    first.current?.focus()
    return () => {
      const now = document.activeElement
      const isHere = now === null || now === document.body || element?.contains(now) === true
      if (isHere && before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
}
