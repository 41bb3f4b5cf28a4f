// The name at the caret of another person. It stands above the line, and goes after a moment.

import { keyOf } from './people'
import { readableOn } from './readable'
import './caret_label.css'

interface CaretUser {
  name: string
  color: string
  agent?: boolean
}

/** The key of a person, as the element of a caret has it. */
export const caretKey = (user: CaretUser): string =>
  keyOf({ name: user.name, agent: user.agent === true })

export function makeCaretLabel(user: CaretUser, className: string): HTMLElement {
  const label = document.createElement('span')
  label.className = `caret-label ${className}`
  label.style.backgroundColor = user.color
  label.style.color = readableOn(user.color)
  label.textContent = user.agent === true ? `🤖 ${user.name}` : user.name
  return label
}
