// Whether the bar of format is shown above documents; kept in this browser.

import { effect, signal } from '@preact/signals'

const KEY = 'yfs:format-bar'

export const showsBar = signal(localStorage.getItem(KEY) !== 'off')

effect(() => {
  if (showsBar.value) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, 'off')
})
