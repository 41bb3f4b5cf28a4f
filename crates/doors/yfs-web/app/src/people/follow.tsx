// Follows a person: their file is open here, and what they do is in view, until a key.

import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t } from '../language/translate'
import {
  createAbsolutePositionFromRelativePosition,
  createRelativePositionFromJSON,
  type Doc,
} from 'yjs'
import type { OpenDocument } from '../documents'
import type { Session } from '../session/workspace'
import { open, openEditorHandle, openId } from '../shell/view_state'
import { keyOf, listPeople, type PresentPerson } from './people'

export const followed = signal<PresentPerson | null>(null)

/** Whether the one who is followed is not here now. */
const isAway = signal(false)

let stop: (() => void) | null = null

/** Begins to follow a person. */
export function follow(session: Session, person: PresentPerson): void {
  stopFollowing()
  followed.value = person
  const stopFile = effect(() => {
    const now = listPeople(session.peers.value).find(({ key }) => key === person.key)
    // A connection is lost for a moment, and an agent thinks between its calls.
    queueMicrotask(() => (isAway.value = now === undefined))
    if (now === undefined) return
    if (now.color !== followed.peek()?.color) queueMicrotask(() => (followed.value = now))
    const path = now.open.map((id) => session.pathsById.value.get(id)).find((p) => p !== undefined)
    const isOpen = openId.peek() !== null && now.open.includes(openId.peek()!)
    if (path !== undefined && !isOpen) queueMicrotask(() => open(session, path))
  })
  const stopCaret = effect(() => {
    const id = openId.value
    void openEditorHandle.value
    if (id !== null) return followCaret(session, id, person.key)
    return undefined
  })
  // A key or a click in the document goes on without them.
  const onKey = (event: Event) => {
    if (event instanceof KeyboardEvent && event.key === 'Escape') event.stopPropagation()
    stopFollowing()
  }
  addEventListener('keydown', onKey, true)
  addEventListener('wheel', stopFollowing, { passive: true })
  stop = () => {
    stopFile()
    stopCaret()
    removeEventListener('keydown', onKey, true)
    removeEventListener('wheel', stopFollowing)
  }
}

export function stopFollowing(): void {
  stop?.()
  stop = null
  followed.value = null
}

/** Keeps the caret of a person in view, in the open file. */
function followCaret(session: Session, id: string, key: string): () => void {
  let isOver = false
  let release = () => {}
  void import('../documents').then(({ documentPool }) => {
    if (isOver) return
    const pool = documentPool(session)
    const document = pool.acquire(id)
    let isDue = false
    // What comes at once moves the view once.
    const onChange = () => {
      if (isDue) return
      isDue = true
      setTimeout(() => {
        isDue = false
        if (!isOver) showCaret(document, key)
      })
    }
    document.awareness.on('change', onChange)
    // What was written may arrive after the place where it ended.
    document.doc.on('update', onChange)
    release = () => {
      document.awareness.off('change', onChange)
      document.doc.off('update', onChange)
      pool.release(id)
    }
    onChange()
  })
  return () => {
    isOver = true
    release()
  }
}

/** Scrolls to the caret of a person. An editor of text draws only what is near the view. */
function showCaret({ awareness, doc }: OpenDocument, key: string): void {
  const carets = document.querySelectorAll<HTMLElement>('[data-caret-of]')
  const caret = [...carets].find((element) => element.dataset['caretOf'] === key)
  if (caret !== undefined) {
    caret.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    return
  }
  for (const [client, state] of awareness.getStates()) {
    const { user, cursor } = state as Partial<PresentState>
    if (client === awareness.clientID || !user || !cursor) continue
    if (keyOf({ name: user.name, agent: user.agent === true }) !== key) continue
    const line = lineOf(doc, cursor.head)
    if (line !== null) openEditorHandle.peek()?.reveal(line)
  }
}

interface PresentState {
  user: { name: string; agent?: boolean }
  cursor: { head: unknown } | null
}

/** Returns the line of a place in the text of a document, from 1; null in rich text. */
function lineOf(doc: Doc, place: unknown): number | null {
  const text = doc.getText('text')
  const position = createRelativePositionFromJSON(place)
  const absolute = createAbsolutePositionFromRelativePosition(position, doc)
  if (absolute === null || absolute.type !== text) return null
  return text
    .toString()
    .slice(0, absolute.index)
    .split(/\r\n|\n|\r/).length
}

/** The frame around the page in the color of the person who is followed. */
export function FollowFrame() {
  const person = followed.value
  useEffect(() => stopFollowing, [])
  if (person === null) return null
  const { color, name } = person
  const said = isAway.value
    ? t('Waiting for {name} – Esc', { name })
    : t('Following {name} – Esc', { name })
  return (
    <div class="following" style={{ borderColor: color }} role="status">
      <p style={{ background: color }}>{said}</p>
    </div>
  )
}
