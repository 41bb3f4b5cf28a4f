// Which files of text have a view that shows what they mean.

import { t } from '../../language/translate'
import type { MountedEditor, MountOptions } from '../mounted_editor'

const isTable = (name: string) => /\.(csv|tsv)$/i.test(name)
const isPicture = (name: string) => /\.svg$/i.test(name)

export const hasPreview = (name: string): boolean => isTable(name) || isPicture(name)

export const previewLabel = (name: string): string => (isTable(name) ? t('Table') : t('Preview'))

export async function mountPreview(options: MountOptions): Promise<MountedEditor> {
  if (isTable(options.name)) return (await import('./table_preview')).mountTablePreview(options)
  return (await import('./svg_preview')).mountSvgPreview(options)
}
