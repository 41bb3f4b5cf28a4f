// What the label of a version means to a person. Programs write labels with times and hashes.

import { t } from '../language/translate'

/** Returns the label as a person reads it. */
export function labelText(label: string): string {
  if (/^save \d+ [0-9a-f]+$/.test(label)) return t('Saved on disk')
  if (/^import [0-9a-z]+/.test(label)) return t('Imported')
  if (/^(mcp|agent)-[0-9a-f]+$/.test(label)) return t('A session of an agent')
  return label
}
