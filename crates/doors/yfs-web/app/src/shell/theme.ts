// Light or dark: as the system has it, unless the person chose.

const KEY = 'yfs:theme'

export function applyTheme(): void {
  const chosen = localStorage.getItem(KEY)
  document.documentElement.style.colorScheme = chosen ?? 'light dark'
}

export function toggleTheme(): void {
  const isDark =
    (localStorage.getItem(KEY) ??
      (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  localStorage.setItem(KEY, isDark ? 'light' : 'dark')
  applyTheme()
}
