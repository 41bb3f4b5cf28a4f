// What others changed in the open file while this person was away, and what agents change while the
// person reads: a quiet bar says so, and shows it.

import { h, render } from 'preact'
import type { EditorWorkspace, OpenDocument } from '../documents'
import { makeNotice } from '../editors/notice'
import { actorInfo } from '../history/actors'
import { diffRows } from '../history/text_diff'
import { readVersion } from '../history/versions_api'
import { language, plural, t } from '../language/translate'
import { claimsOf } from '../session/token'
import { sinceWhen } from './ago'
import { nameInText } from './author'
import { ChangeDialog } from './change_dialog'
import { FreshBlocks } from './fresh_blocks'
import type { LogEntry } from './log_groups'
import { rememberSeen, seenVersion, type SeenVersion } from './seen_versions'

export interface ReadingOptions {
  workspace: EditorWorkspace
  id: string
  path: () => string
  document: OpenDocument
  notices: HTMLElement
  content: HTMLElement
}

/** How long changes are collected before the log is asked whose they are. */
const PAUSE_MS = 700
const N_ENTRIES = 100

type Version = LogEntry & { version: number }

/** Counts the places at which two texts differ: each changed line, and what came or went at once. */
function countPlaces(before: string, after: string): number {
  let n = 0
  let [removed, added] = [0, 0]
  for (const { kind } of [...diffRows(before, after), { kind: 'same' }]) {
    if (kind === 'removed') removed += 1
    else if (kind === 'added') added += 1
    else {
      n += removed + added === 0 ? 0 : Math.max(1, Math.min(removed, added))
      removed = added = 0
    }
  }
  return n
}

class ReadingWatch {
  private readonly fresh: FreshBlocks
  private readonly me: string | undefined
  private notice: HTMLElement | null = null
  private dialog: HTMLElement | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private isGone = false
  /** Counts questions: the answer of one that was overtaken is dropped. */
  private nChecks = 0

  constructor(private readonly options: ReadingOptions) {
    const { workspace, document: opened, content } = options
    this.me = claimsOf(workspace.token)?.actor
    this.fresh = new FreshBlocks(opened, content)
    opened.doc.on('update', this.schedule)
    document.addEventListener('visibilitychange', this.onVisible)
    void this.check(false)
  }

  destroy(): void {
    this.isGone = true
    clearTimeout(this.timer)
    this.options.document.doc.off('update', this.schedule)
    document.removeEventListener('visibilitychange', this.onVisible)
    this.fresh.destroy()
    this.notice?.remove()
    this.closeDialog()
  }

  private readonly schedule = () => {
    if (document.visibilityState === 'hidden') return
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.check(true), PAUSE_MS)
  }

  private readonly onVisible = () => {
    if (document.visibilityState === 'visible') void this.check(false)
  }

  private async listVersions(): Promise<Version[]> {
    const { workspace, path } = this.options
    const query = new URLSearchParams({ path: path(), limit: String(N_ENTRIES) })
    const response = await workspace.fetch(`/api/log?${query}`)
    if (!response.ok) return []
    const { entries } = (await response.json()) as { entries: LogEntry[] }
    return entries.filter((entry): entry is Version => entry.version !== null)
  }

  /** Looks for changes of others; while the person reads, of agents only. */
  private async check(isReading: boolean): Promise<void> {
    this.nChecks += 1
    const check = this.nChecks
    const versions = await this.listVersions().catch((): Version[] => [])
    const newest = versions[0]
    if (this.isGone || check !== this.nChecks || newest === undefined) return
    const { workspace, id } = this.options
    const seen = seenVersion(workspace.id, id)
    const isByAgent = ({ actor }: Version) => actorInfo(actor).kind === 'agent'
    if (isReading && isByAgent(newest)) this.fresh.show()
    else this.fresh.clear()
    const news = versions.filter(
      (entry) =>
        entry.version > (seen?.version ?? Infinity) &&
        entry.actor !== this.me &&
        (!isReading || isByAgent(entry) || this.notice !== null),
    )
    if (seen === null || news.length === 0) {
      if (this.notice === null) rememberSeen(workspace.id, id, newest.version)
      return
    }
    await this.tell(seen, news, newest, check)
  }

  private async tell(seen: SeenVersion, news: Version[], newest: Version, check: number) {
    const { workspace, path } = this.options
    const [before, after] = await Promise.all([
      readVersion(workspace, path(), seen.version),
      readVersion(workspace, path(), newest.version),
    ]).catch(() => [null, null])
    if (this.isGone || check !== this.nChecks || before == null || after == null) return
    const n = countPlaces(before, after)
    if (n === 0) {
      this.dismiss(newest)
      return
    }
    const names = [...new Set(news.map(({ actor }) => nameInText(actor)))]
    const name = new Intl.ListFormat(language.peek(), { type: 'conjunction' }).format(names)
    const time = sinceWhen(seen.at)
    const text = plural(
      n,
      '{name} changed 1 place since {time}.',
      '{name} changed {n} places since {time}.',
      { name, time },
    )
    const notice = makeNotice(
      text,
      { label: t('Show'), run: () => this.show(seen, newest, text) },
      { label: t('Dismiss'), run: () => this.dismiss(newest) },
    )
    notice.classList.add('is-news')
    if (this.notice === null) this.options.notices.append(notice)
    else this.notice.replaceWith(notice)
    this.notice = notice
  }

  private dismiss(newest: Version): void {
    // An answer that is on its way does not know of it.
    this.nChecks += 1
    this.notice?.remove()
    this.notice = null
    rememberSeen(this.options.workspace.id, this.options.id, newest.version)
  }

  private show(seen: SeenVersion, newest: Version, subtitle: string): void {
    this.dismiss(newest)
    const { workspace, path } = this.options
    const host = document.createElement('div')
    document.body.append(host)
    this.dialog = host
    render(
      h(ChangeDialog, {
        workspace,
        path: path(),
        from: seen.version,
        to: newest.version,
        subtitle,
        onClose: () => this.closeDialog(),
      }),
      host,
    )
  }

  private closeDialog(): void {
    if (this.dialog === null) return
    render(null, this.dialog)
    this.dialog.remove()
    this.dialog = null
  }
}

/** Watches a file that is read, until the returned function is called. */
export function watchReading(options: ReadingOptions): () => void {
  const watch = new ReadingWatch(options)
  return () => watch.destroy()
}
