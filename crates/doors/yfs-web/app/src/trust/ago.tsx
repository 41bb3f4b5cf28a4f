// A time as people say it, which stays true while it is shown; in full when it is pointed at.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { fullTime, relativeTime } from '../language/relative_time'
import { language, t } from '../language/translate'

const REFRESH_MS = 20_000

const now = signal(Date.now())
let nShown = 0
let timer: ReturnType<typeof setInterval> | undefined

/** Returns the present time, as a value that the component is drawn again for. */
export function useNow(): number {
  useEffect(() => {
    nShown += 1
    now.value = Date.now()
    timer ??= setInterval(() => (now.value = Date.now()), REFRESH_MS)
    return () => {
      nShown -= 1
      if (nShown > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now.value
}

export function Ago({ at }: { at: number }) {
  const shown = relativeTime(Math.min(at, Date.now()), Math.max(useNow(), at))
  return (
    <time class="ago" dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {shown}
    </time>
  )
}

const startOfDay = (at: number) => new Date(at).setHours(0, 0, 0, 0)

/** Returns the name of the day of a time: "Today", or as the language writes it. */
export function dayOf(at: number, today = Date.now()): string {
  const days = Math.round((startOfDay(today) - startOfDay(at)) / 86_400_000)
  if (days === 0) return t('Today')
  if (days === 1) return t('Yesterday')
  const isThisYear = new Date(at).getFullYear() === new Date(today).getFullYear()
  return new Date(at).toLocaleDateString(language.peek(), {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(!isThisYear && { year: 'numeric' }),
  })
}

/** Returns the time of the day. */
export const clockOf = (at: number): string =>
  new Date(at).toLocaleTimeString(language.peek(), { hour: '2-digit', minute: '2-digit' })

/** Returns a time as it stands behind "since": the clock, the day of the week, or the date. */
export function sinceWhen(at: number, now = Date.now()): string {
  const days = Math.round((startOfDay(now) - startOfDay(at)) / 86_400_000)
  if (days === 0) return clockOf(at)
  if (days < 7) {
    return new Date(at).toLocaleDateString(language.peek(), { weekday: 'long' })
  }
  return new Date(at).toLocaleDateString(language.peek(), { dateStyle: 'long' })
}
