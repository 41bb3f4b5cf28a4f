// What a person chose for this browser. Each setting is a signal that is kept in its storage.

import { effect, signal, type Signal } from '@preact/signals'
import { directionOf, language } from '../language/translate'

/** Makes a setting that has one of some values; the first one is the value before a choice. */
function choice<const T extends string>(name: string, values: readonly [T, ...T[]]): Signal<T> {
  const key = `yfs:${name}`
  let kept: string | null = null
  try {
    kept = localStorage.getItem(key)
  } catch {
    // Without storage a choice holds until the page closes.
  }
  const chosen = signal<T>(values.find((value) => value === kept) ?? values[0])
  let isFirst = true
  effect(() => {
    const { value } = chosen
    if (isFirst) return void (isFirst = false)
    try {
      localStorage.setItem(key, value)
    } catch {
      // As above.
    }
  })
  return chosen
}

export const theme = choice('theme', ['system', 'light', 'dark'])
export const density = choice('density', ['comfortable', 'compact'])
/** Where lines of the page begin. */
export const layoutDirection = choice('layout-direction', ['language', 'ltr', 'rtl'])
/** The size of the text of documents. */
export const textSize = choice('text-size', ['normal', 'small', 'large'])
/** Whether long lines of texts are wrapped. */
export const wrapsLines = choice('wrap-lines', ['on', 'off'])
/** Whether texts have the keys of Vim. */
export const vimKeys = choice('vim-keys', ['off', 'on'])
/** Whether brackets of code have colors by their depth. */
export const bracketColors = choice('bracket-colors', ['on', 'off'])
/** Whether texts have marks at lines that differ from a base, and what the base is. */
export const changedLines = choice('changed-lines', ['off', 'on'])
export const changedBase = choice('changed-base', ['opened', 'version', 'others'])
export type ChangedBase = typeof changedBase.value

/** Applies the settings of the look, now and after each choice. */
export function applyLook(): void {
  const root = document.documentElement
  effect(() => {
    root.style.colorScheme = theme.value === 'system' ? '' : theme.value
    const { value: direction } = layoutDirection
    root.dir = direction === 'language' ? directionOf(language.value) : direction
    root.dataset['density'] = density.value
    root.dataset['textSize'] = textSize.value
  })
}

/** Goes from light to dark or back, from what is shown now. */
export function toggleTheme(): void {
  const isDark =
    theme.peek() === 'dark' ||
    (theme.peek() === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  theme.value = isDark ? 'light' : 'dark'
}
