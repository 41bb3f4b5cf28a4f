// The texts of the page in the language of the person. The English text is the key of its
// translations, as in gettext; `de.json` and `ja.json` have them. A text that a catalog lacks is
// shown in English.

import { signal } from '@preact/signals'

/** A translation, or one for each plural category (Unicode CLDR) that the language has. */
type Entry = string | Partial<Record<Intl.LDMLPluralRule, string>>
type Catalog = Record<string, Entry>

export const LANGUAGES = { en: 'English', de: 'Deutsch', ja: '日本語' } as const
export type Language = keyof typeof LANGUAGES

const KEY = 'yfs:language'
/** Languages that are written from the right. */
const RIGHT_TO_LEFT = ['ar', 'fa', 'he', 'ur']
const CATALOGS: Partial<Record<Language, () => Promise<{ default: Catalog }>>> = {
  de: () => import('./de.json'),
  ja: () => import('./ja.json'),
}

let catalog: Catalog = {}
export const language = signal<Language>('en')

/** Returns the language that the person chose, else the first one of the browser that is here. */
function preferredLanguage(): Language {
  const wanted = [localStorage.getItem(KEY) ?? '', ...navigator.languages]
  const codes = wanted.map((tag) => tag.toLowerCase().split('-')[0]!)
  return (codes.find((code) => code in LANGUAGES) as Language | undefined) ?? 'en'
}

/** Loads the catalog of the person's language. Without it, the page is in English. */
export async function loadLanguage(): Promise<void> {
  const wanted = preferredLanguage()
  try {
    catalog = ((await CATALOGS[wanted]?.())?.default ?? {}) as Catalog
    language.value = wanted
  } catch {
    catalog = {}
  }
  document.documentElement.lang = language.peek()
}

/** Returns where the lines of a language begin. */
export const directionOf = (code: string): 'ltr' | 'rtl' =>
  RIGHT_TO_LEFT.includes(code) ? 'rtl' : 'ltr'

/** Keeps the choice of a language. The page is in it from its next start. */
export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(KEY, chosen)
}

function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => {
    const value = values[name]
    return typeof value === 'number' ? value.toLocaleString(language.peek()) : (value ?? hole)
  })
}

/** Translates a text; `{name}` in it stands for the value of that name. */
export function t(text: string, values: Record<string, string | number> = {}): string {
  const entry = catalog[text]
  return fill(typeof entry === 'string' ? entry : text, values)
}

/** Translates a text that counts: `{n}` in it is the number. The key is the text for many. */
export function plural(
  n: number,
  one: string,
  many: string,
  values: Record<string, string | number> = {},
): string {
  const category = new Intl.PluralRules(language.peek()).select(n)
  const entry = catalog[many]
  const own = category === 'one' ? one : many
  const text = typeof entry === 'object' ? (entry[category] ?? entry.other ?? own) : (entry ?? own)
  return fill(text, { n, ...values })
}
