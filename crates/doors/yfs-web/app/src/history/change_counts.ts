// How many lines a version added and removed. Each is compared once, a few at a time.

import { diffLines } from 'diff'
import type { EditorWorkspace } from '../documents'
import { readVersion, type FileVersion } from './versions_api'

export interface ChangeCounts {
  added: number
  removed: number
}

const MAX_LENGTH = 1_000_000
const MAX_EDITS = 4000
const MAX_AT_ONCE = 2
/** Texts that are kept: neighbors are compared one after the other. */
const MAX_TEXTS = 12

/** Counts the changed lines of two texts; null if they differ in too many. */
export function countLines(before: string, after: string): ChangeCounts | null {
  if (before.length + after.length > MAX_LENGTH) return null
  const changes = diffLines(before, after, { maxEditLength: MAX_EDITS })
  if (changes === undefined) return null
  const counts = { added: 0, removed: 0 }
  for (const { added, removed, count } of changes) {
    if (added) counts.added += count
    if (removed) counts.removed += count
  }
  return counts
}

/** Counts the changes of the versions of one file. */
export class ChangeCounter {
  private readonly texts = new Map<string, Promise<string | null>>()
  private readonly counts = new Map<string, Promise<ChangeCounts | null>>()
  private readonly waiting: (() => void)[] = []
  private nRunning = 0

  constructor(
    private readonly workspace: EditorWorkspace,
    private readonly path: () => string,
  ) {}

  /** Returns what a version changed; null if that cannot be counted. */
  count(version: FileVersion, before: FileVersion | null): Promise<ChangeCounts | null> {
    const isReadable = !version.redacted && before?.redacted !== true
    if (!isReadable) return Promise.resolve(null)
    const key = keyOf(version)
    const known = this.counts.get(key)
    // The current version goes on.
    if (known !== undefined && !version.current) return known
    const counted = this.compare(version, before).catch(() => null)
    this.counts.set(key, counted)
    return counted
  }

  private async compare(
    version: FileVersion,
    before: FileVersion | null,
  ): Promise<ChangeCounts | null> {
    await this.turn()
    try {
      const [old, text] = await Promise.all([
        before === null ? '' : this.read(before),
        this.read(version),
      ])
      return old === null || text === null ? null : countLines(old, text)
    } finally {
      this.nRunning -= 1
      this.waiting.shift()?.()
    }
  }

  private async turn(): Promise<void> {
    if (this.nRunning >= MAX_AT_ONCE) {
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
    this.nRunning += 1
  }

  private read(version: FileVersion): Promise<string | null> {
    const key = keyOf(version)
    const known = version.current ? undefined : this.texts.get(key)
    if (known !== undefined) return known
    const text = readVersion(this.workspace, this.path(), version.number)
    this.texts.set(key, text)
    text.catch(() => this.texts.delete(key))
    if (this.texts.size > MAX_TEXTS) this.texts.delete(this.texts.keys().next().value!)
    return text
  }
}

/** Late updates renumber versions: the number alone is none. */
const keyOf = ({ number, at, actor }: FileVersion) => `${number} ${at} ${actor}`
