// The keys of a person while an editor takes the place of another one.

const isText = (event: KeyboardEvent) =>
  event.key.length === 1 &&
  ((!event.ctrlKey && !event.metaKey && !event.altKey) || event.getModifierState('AltGraph'))

/** A key that was held: text to insert, or a key to press. */
export type HeldKey = string | KeyboardEvent

/** Keeps keys from an element until they are given to another editor. */
export class HeldKeys {
  private readonly keys: HeldKey[] = []

  constructor(private readonly element: HTMLElement) {
    element.addEventListener('keydown', this.onKey, true)
    element.addEventListener('beforeinput', this.onInput, true)
    element.addEventListener('paste', this.onPaste, true)
  }

  /** Ends the hold, and returns the keys in their order. */
  release(): HeldKey[] {
    this.element.removeEventListener('keydown', this.onKey, true)
    this.element.removeEventListener('beforeinput', this.onInput, true)
    this.element.removeEventListener('paste', this.onPaste, true)
    return this.keys.splice(0)
  }

  private hold(event: Event, key: HeldKey): void {
    event.preventDefault()
    event.stopImmediatePropagation()
    this.keys.push(key)
  }

  private readonly onKey = (event: KeyboardEvent) => {
    // An input method goes on in the former editor.
    const isComposed = event.isComposing || ['Process', 'Dead', 'Unidentified'].includes(event.key)
    if (isComposed) return
    if (isText(event)) return this.hold(event, event.key)
    const isKept = ['Enter', 'Backspace', 'Delete', 'Tab'].includes(event.key)
    if (isKept) this.hold(event, event)
  }

  private readonly onInput = (event: InputEvent) => {
    if (event.inputType === 'insertText' && event.data !== null) this.hold(event, event.data)
  }

  private readonly onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData('text/plain') ?? ''
    if (text !== '') this.hold(event, text)
  }
}

/** Returns a press of the same key. */
export function pressOf({ key, code, keyCode, shiftKey, ctrlKey, metaKey }: KeyboardEvent) {
  const init = { key, code, keyCode, shiftKey, ctrlKey, metaKey, bubbles: true, cancelable: true }
  return new KeyboardEvent('keydown', init)
}
