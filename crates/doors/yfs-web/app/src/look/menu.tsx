// A menu of commands: of a button, or at the place of a click of the other button. Keys are those
// of the ARIA Authoring Practices, pattern "Menu".

import { render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { IconNode } from 'lucide'
import { Icon } from './icon'
import { isRightToLeft, moveTo } from './place'
import './menu.css'

export interface MenuItem {
  label: string
  icon?: IconNode
  /** The keys that do the same. */
  keys?: string
  run: () => void
  isDisabled?: boolean
  isDanger?: boolean
  /** Whether this choice holds now; only for items that are switched. */
  isChecked?: boolean
}

/** `null` is a line between groups. */
export type MenuItems = (MenuItem | null)[]

export interface MenuPlace {
  left: number
  top: number
  /** Whether `left` is where the menu ends. */
  isEnd?: boolean
}

/** The space between a menu and what opens it. */
const GAP = 4

function Menu(props: { label: string; items: MenuItems; at: MenuPlace; onClose: () => void }) {
  const { label, items, at, onClose } = props
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = list.current!
    element.showPopover()
    moveTo(element, at.isEnd === true ? at.left - element.offsetWidth : at.left, at.top)
    element.querySelector<HTMLElement>('[role^="menuitem"]')?.focus()
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const all = [...list.current!.querySelectorAll<HTMLElement>('[role^="menuitem"]')]
    const now = all.indexOf(document.activeElement as HTMLElement)
    const go = (index: number) => all[(index + all.length) % all.length]?.focus()
    const letter = event.key.toLowerCase()
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(now + 1),
      ArrowUp: () => go(now - 1),
      Home: () => go(0),
      End: () => go(-1),
      Escape: onClose,
      Tab: onClose,
    }
    const action = actions[event.key]
    if (action !== undefined) {
      event.preventDefault()
      action()
    } else if (letter.length === 1 && !event.ctrlKey && !event.metaKey && letter !== ' ') {
      const order = [...all.slice(now + 1), ...all.slice(0, now + 1)]
      order.find((item) => item.textContent.trim().toLowerCase().startsWith(letter))?.focus()
    }
  }
  return (
    <div
      ref={list}
      class="menu"
      role="menu"
      aria-label={label}
      popover="auto"
      onKeyDown={onKeyDown}
      onToggle={(event) => {
        if (event.newState === 'closed') onClose()
      }}
    >
      {items.map((item, index) =>
        item === null ? (
          <hr key={index} />
        ) : (
          <button
            key={item.label}
            type="button"
            role={item.isChecked === undefined ? 'menuitem' : 'menuitemcheckbox'}
            aria-checked={item.isChecked}
            tabIndex={-1}
            disabled={item.isDisabled}
            class={item.isDanger === true ? 'menu-item is-danger' : 'menu-item'}
            onClick={() => {
              onClose()
              item.run()
            }}
          >
            <span class="menu-icon">{item.icon !== undefined && <Icon of={item.icon} />}</span>
            <span class="menu-label">{item.label}</span>
            {item.keys !== undefined && <kbd>{item.keys}</kbd>}
          </button>
        ),
      )}
    </div>
  )
}

/** Opens a menu. It closes when a command is chosen, by Escape, or by a click elsewhere. */
export function openMenu(label: string, items: MenuItems, at: MenuPlace): void {
  const before = document.activeElement
  const host = document.createElement('div')
  document.body.append(host)
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    render(null, host)
    host.remove()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
  }
  render(<Menu label={label} items={items} at={at} onClose={close} />, host)
}

/** Returns the place of a menu below an element: both begin at the same edge. */
export function placeBelow(element: Element): MenuPlace {
  const { left, right, bottom } = element.getBoundingClientRect()
  const isEnd = isRightToLeft(element)
  return { left: isEnd ? right : left, top: bottom + GAP, isEnd }
}

/** Opens a menu below the element that was clicked. */
export function openMenuBelow(element: Element, label: string, items: MenuItems): void {
  openMenu(label, items, placeBelow(element))
}
