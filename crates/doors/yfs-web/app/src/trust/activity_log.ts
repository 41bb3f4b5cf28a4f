// The log of the workspace, a page at a time, and what is new while it is shown. It is read from the
// server again after each change: an event stream in every tab would use up the few connections
// that a browser opens to one server.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../session/workspace'
import { entryKey, type LogEntry } from './log_groups'

const PAGE = 100
/** How long changes are collected before the log is read again. */
const PAUSE_MS = 500

async function readLog(session: Session, scope: string | null, skip: number): Promise<LogEntry[]> {
  const query = new URLSearchParams({ limit: String(PAGE), skip: String(skip) })
  if (scope !== null) query.set('path', scope)
  const response = await session.call('GET', `/api/log?${query}`)
  return ((await response.json()) as { entries: LogEntry[] }).entries
}

/** Puts a page before or behind the entries that are known, and keeps each once. */
function joinPages(first: LogEntry[], second: LogEntry[]): LogEntry[] {
  const keys = new Set(first.map(entryKey))
  return [...first, ...second.filter((entry) => !keys.has(entryKey(entry)))]
}

export interface ActivityLog {
  entries: LogEntry[] | null
  hasMore: boolean
  error: string | null
  loadOlder: () => Promise<void>
}

/** Reads the log of a path, null for all, while the component is shown. */
export function useActivityLog(session: Session, scope: string | null): ActivityLog {
  const [entries, setEntries] = useState<LogEntry[] | null>(null)
  const [hasMore, setMore] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const shown = useRef<LogEntry[]>([])
  const isLoading = useRef(false)
  useEffect(() => {
    let isGone = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = (all: LogEntry[]) => {
      shown.current = all
      setEntries(all)
      setError(null)
    }
    const refresh = async (isFirst: boolean) => {
      try {
        const latest = await readLog(session, scope, 0)
        if (isGone) return
        show(isFirst ? latest : joinPages(latest, shown.current))
        if (isFirst) setMore(latest.length === PAGE)
      } catch (failure) {
        // Later the banner says that there is no connection.
        if (!isGone && isFirst) setError((failure as Error).message)
      }
    }
    setEntries(null)
    void refresh(true)
    const stop = session.onChange(() => {
      timer ??= setTimeout(() => {
        timer = undefined
        void refresh(false)
      }, PAUSE_MS)
    })
    return () => {
      isGone = true
      clearTimeout(timer)
      stop()
    }
  }, [scope])
  const loadOlder = async () => {
    if (isLoading.current) return
    isLoading.current = true
    try {
      const older = await readLog(session, scope, shown.current.length)
      shown.current = joinPages(shown.current, older)
      setEntries(shown.current)
      setMore(older.length === PAGE)
    } catch (failure) {
      setError((failure as Error).message)
    } finally {
      isLoading.current = false
    }
  }
  return { entries, hasMore, error, loadOlder }
}
