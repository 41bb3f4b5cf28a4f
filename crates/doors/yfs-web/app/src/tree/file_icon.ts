// The icon of a file, by its kind.

import {
  File,
  FileArchive,
  FileCode,
  FileImage,
  FileSpreadsheet,
  FileText,
  Folder,
  FolderOpen,
  type IconNode,
} from 'lucide'
import type { TreeRow } from './tree_model'

const KINDS: [IconNode, string][] = [
  [FileText, 'md txt log rst adoc tex pdf doc docx odt'],
  [FileImage, 'png jpg jpeg gif webp avif bmp ico svg mp4 mov webm mp3 wav ogg flac'],
  [FileArchive, 'zip gz tgz tar xz bz2 7z rar zst jar'],
  [FileSpreadsheet, 'csv tsv xlsx xls ods parquet'],
  [
    FileCode,
    'js mjs ts tsx jsx rs py go c h cpp java rb php sh css html json yaml yml toml xml sql',
  ],
]

const BY_EXTENSION = new Map(
  KINDS.flatMap(([icon, names]) => names.split(' ').map((name) => [name, icon] as const)),
)

export function iconOf(row: Pick<TreeRow, 'entry' | 'name' | 'isExpanded'>): IconNode {
  if (row.entry.kind === 'directory') return row.isExpanded ? FolderOpen : Folder
  const extension = row.name.slice(row.name.lastIndexOf('.') + 1).toLowerCase()
  return BY_EXTENSION.get(extension) ?? File
}
