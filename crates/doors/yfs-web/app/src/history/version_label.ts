// What a version is called. Programs label versions with ids, which say nothing to a person.

import { t } from '../language/translate'

const SAVE = /^save\b/
const IMPORT = /^import \S+(?: (.+))?$/
const RESTORE = /^restore version (\d+)$/
const UNDO = /^undo\b/
/** A word that is an id: long, of letters and digits mixed. */
const ID = /^(?=\S*\d)(?=\S*[a-z])[0-9a-z_-]{10,}$/i

/** Returns a label for a person; null if it has none. */
export function labelText(label: string | null): string | null {
  if (label === null || label === '') return null
  const [, imported] = IMPORT.exec(label) ?? []
  if (imported !== undefined) return t('imported from {name}', { name: imported })
  if (IMPORT.test(label)) return t('imported')
  if (SAVE.test(label)) return t('saved on disk')
  const [, restored] = RESTORE.exec(label) ?? []
  if (restored !== undefined) return t('restored version {n}', { n: restored })
  if (UNDO.test(label)) return t('undone')
  if (label === 'resolve') return t('settled a conflict')
  if (label === 'repair') return t('repaired')
  const words = label.split(/\s+/).filter((word) => !ID.test(word) && !/^\d{10,}$/.test(word))
  return words.length === 0 ? null : words.join(' ')
}
