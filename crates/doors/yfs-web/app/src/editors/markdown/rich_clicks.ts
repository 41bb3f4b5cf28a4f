// Clicks on boxes of tasks and on links.

import { Plugin } from 'prosemirror-state'
import type { EditorView } from 'prosemirror-view'
import { isRightToLeft } from '../../look/place'
import { revealHeading } from './format/outline'
import { resolveReference } from './workspace_path'

/** The event that asks the application to open a file; it bubbles. */
export const OPEN_PATH_EVENT = 'yfs-open-path'

/** Width of the area in front of a task that toggles it, in pixels. */
const BOX_WIDTH = 28
const FINGER_WIDTH = 44

function toggleTask(view: EditorView, event: MouseEvent): boolean {
  const target = event.target
  if (!(target instanceof HTMLElement) || !view.editable) return false
  const item = target.closest<HTMLElement>('li[data-item-type="task"]')
  if (item === null) return false
  const { left, right } = item.getBoundingClientRect()
  const isLeftward = isRightToLeft(item)
  const before = isLeftward ? event.clientX - right : left - event.clientX
  const width = matchMedia('(pointer: coarse)').matches ? FINGER_WIDTH : BOX_WIDTH
  if (before < 0 || before > width) return false
  const position = view.posAtDOM(item, 0)
  const $position = view.state.doc.resolve(position)
  const node = $position.parent
  if (typeof node.attrs['checked'] !== 'boolean') return false
  const attributes = { ...node.attrs, checked: !node.attrs['checked'] }
  view.dispatch(view.state.tr.setNodeMarkup($position.before(), undefined, attributes))
  return true
}

function openLink(view: EditorView, event: MouseEvent, filePath: string): boolean {
  const target = event.target
  const link = target instanceof Element ? target.closest('a[href]') : null
  const href = link?.getAttribute('href')
  if (!href || !(event.metaKey || event.ctrlKey || !view.editable)) return false
  openHref(view, href, filePath)
  return true
}

/** Returns the heading that a link names; null if it names none. */
function headingOf(href: string): string | null {
  const fragment = /#(.+)$/.exec(href)?.[1]
  try {
    return fragment === undefined ? null : decodeURIComponent(fragment)
  } catch {
    return fragment ?? null
  }
}

/** Opens the target of a link: a heading, a file of the workspace here, else a new tab. */
export function openHref(view: EditorView, href: string, filePath: string): void {
  const path = resolveReference(filePath, href)
  const heading = headingOf(href)
  if (href.startsWith('#')) {
    if (heading !== null) revealHeading(view, heading)
  } else if (path !== null) {
    const detail = { path, heading }
    view.dom.dispatchEvent(new CustomEvent(OPEN_PATH_EVENT, { bubbles: true, detail }))
  } else if (/^(https?|mailto):/i.test(href)) {
    window.open(href, '_blank', 'noopener,noreferrer')
  }
}

export function richClicks(filePath: () => string): Plugin {
  return new Plugin({
    props: {
      handleDOMEvents: {
        mousedown: (view, event) => {
          if (!toggleTask(view, event)) return false
          event.preventDefault()
          return true
        },
        click: (view, event) => {
          const isLink = openLink(view, event, filePath())
          // A link never navigates the page away from the editor.
          if (event.target instanceof Element && event.target.closest('a') !== null) {
            event.preventDefault()
          }
          return isLink
        },
      },
    },
  })
}
