// Sources that were typed and are not known to be stored at the server: they survive a reload.

import type { FileSource } from './read_source'

interface KeptSource {
  /** What the server had when this was typed. */
  base: FileSource
  text: string
}

const PREFIX = 'yfs:source:'
const keyOf = (workspace: string, id: string) => `${PREFIX}${workspace}:${id}`

/** Keeps a source until it is stored. */
export function keepSource(workspace: string, id: string, source: KeptSource): void {
  try {
    localStorage.setItem(keyOf(workspace, id), JSON.stringify(source))
  } catch {
    // The storage is full: the text is in the editor, and is sent from there.
  }
}

export function forgetSource(workspace: string, id: string): void {
  localStorage.removeItem(keyOf(workspace, id))
}

/** Returns what an earlier visit could not send; null if nothing. */
export function keptSource(workspace: string, id: string): KeptSource | null {
  try {
    return JSON.parse(localStorage.getItem(keyOf(workspace, id)) ?? 'null') as KeptSource | null
  } catch {
    return null
  }
}

/** Returns the ids of the files of a workspace whose source waits. */
export function waitingSources(workspace: string): string[] {
  const start = keyOf(workspace, '')
  return Object.keys(localStorage).flatMap((key) =>
    key.startsWith(start) ? [key.slice(start.length)] : [],
  )
}
