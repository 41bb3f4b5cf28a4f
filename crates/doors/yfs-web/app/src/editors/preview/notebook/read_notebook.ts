// Notebooks as Jupyter stores them: JSON of the format 4 (nbformat.readthedocs.io).

export interface NotebookCell {
  kind: 'markdown' | 'code' | 'raw'
  source: string
  /** The number in front of a cell that ran. */
  count: number | null
  outputs: unknown[]
  /** The images that a markdown cell has with it: their types and data, by their names. */
  attachments: Record<string, MimeBundle>
}

/** The forms of one result, by their media types. */
export type MimeBundle = Record<string, unknown>

export interface Notebook {
  language: string
  cells: NotebookCell[]
}

type Fields = Record<string, unknown>

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

/** Returns a text that may be stored as its lines. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.filter((line) => typeof line === 'string').join('') : ''
}

function readCell(value: unknown): NotebookCell {
  const fields = fieldsOf(value)
  const type = fields['cell_type']
  const attachments = fieldsOf(fields['attachments'])
  return {
    kind: type === 'markdown' || type === 'code' ? type : 'raw',
    source: textOf(fields['source']),
    count: typeof fields['execution_count'] === 'number' ? fields['execution_count'] : null,
    outputs: Array.isArray(fields['outputs']) ? fields['outputs'] : [],
    attachments: Object.fromEntries(
      Object.entries(attachments).map(([name, bundle]) => [name, fieldsOf(bundle)]),
    ),
  }
}

/** Reads a notebook; null if the text is none, as while a person types its JSON. */
export function readNotebook(text: string): Notebook | null {
  let fields: Fields
  try {
    fields = fieldsOf(JSON.parse(text))
  } catch {
    return null
  }
  const { cells, metadata } = fields
  if (!Array.isArray(cells)) return null
  const { language_info: info, kernelspec } = fieldsOf(metadata)
  const language = fieldsOf(info)['name'] ?? fieldsOf(kernelspec)['language']
  return {
    language: typeof language === 'string' ? language : 'python',
    cells: cells.map(readCell),
  }
}
