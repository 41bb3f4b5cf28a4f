// Which files of text have a view that shows what they mean.

import { t } from '../../language/translate'
import type { MountedEditor, MountOptions } from '../mounted_editor'

const isTable = (name: string) => /\.(csv|tsv)$/i.test(name)
const isPicture = (name: string) => /\.svg$/i.test(name)

const isNotebook = (name: string) => /\.ipynb$/i.test(name)

export const hasPreview = (name: string): boolean =>
  isTable(name) || isPicture(name) || isNotebook(name)

/** Reports whether people rather read the view than the text: it is what opens. */
export const opensAsPreview = isNotebook

export function previewLabel(name: string): string {
  if (isTable(name)) return t('Table')
  return isNotebook(name) ? t('Notebook') : t('Preview')
}

/** Returns the name of the view of the text itself. */
export const editLabel = (name: string): string => (isNotebook(name) ? t('Source') : t('Edit'))

export async function mountPreview(options: MountOptions): Promise<MountedEditor> {
  if (isTable(options.name)) return (await import('./table_preview')).mountTablePreview(options)
  if (isNotebook(options.name)) {
    return (await import('./notebook/notebook_preview')).mountNotebookPreview(options)
  }
  return (await import('./svg_preview')).mountSvgPreview(options)
}
