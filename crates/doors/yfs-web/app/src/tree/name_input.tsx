// The field in which a name is typed, in the row of the file or directory.

import { useLayoutEffect, useRef } from 'preact/hooks'

export interface NameInputProps {
  label: string
  initial: string
  /** Completes when the name was taken or refused; this field stays if it was refused. */
  onName: (name: string) => Promise<boolean>
  onCancel: () => void
}

export function NameInput({ label, initial, onName, onCancel }: NameInputProps) {
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: an effect runs after painting, and what was typed until then went
  // elsewhere.
  useLayoutEffect(() => {
    const element = input.current!
    element.focus()
    const dot = initial.lastIndexOf('.')
    element.setSelectionRange(0, dot > 0 ? dot : initial.length)
  }, [])
  const isSent = useRef(false)
  const isOver = useRef(false)
  const finish = async (isLeft: boolean) => {
    if (isSent.current || isOver.current) return
    const name = input.current!.value.trim()
    if (name === '' || name === initial) {
      // A click elsewhere keeps the focus that it set.
      isOver.current = true
      onCancel()
      return
    }
    isSent.current = true
    isOver.current = await onName(name)
    isSent.current = false
    if (!isOver.current && !isLeft) input.current?.focus()
  }
  return (
    <input
      ref={input}
      class="tree-input"
      aria-label={label}
      placeholder={label}
      defaultValue={initial}
      spellcheck={false}
      autocomplete="off"
      onClick={(event) => event.stopPropagation()}
      onBlur={() => void finish(true)}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Enter') void finish(false)
        // Also while a name is being sent.
        if (event.key !== 'Escape') return
        isOver.current = true
        onCancel()
      }}
    />
  )
}
