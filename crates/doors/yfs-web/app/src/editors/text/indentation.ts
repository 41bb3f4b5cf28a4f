// How a file is indented, from its lines, so that Tab and Enter go on in its way.

import { indentUnit } from '@codemirror/language'
import { EditorState, type Extension, type Text } from '@codemirror/state'

/** How many lines are read. */
const N_LINES = 2000
/** What a file without indented lines gets, in spaces. */
const DEFAULT_WIDTH: Record<string, number> = { py: 4, rs: 4, java: 4, c: 4, cpp: 4, cs: 4, php: 4 }
const WIDTHS = [2, 4, 8, 3]

/** The unit of a file's indentation: a tab, or a number of spaces. */
export type Indentation = '\t' | number

/** Returns the indentation that most steps from line to line have. */
export function indentationOf(doc: Text, name: string): Indentation {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  if (/^makefile$/i.test(name) || extension === 'go') return '\t'
  const counts = new Map<Indentation, number>()
  let above = 0
  for (let number = 1; number <= Math.min(doc.lines, N_LINES); number++) {
    const { text } = doc.line(number)
    const [blank = ''] = /^[\t ]*/.exec(text)!
    if (blank.length === text.length) continue
    if (blank.startsWith('\t')) counts.set('\t', (counts.get('\t') ?? 0) + 1)
    else {
      const step = Math.abs(blank.length - above)
      if (WIDTHS.includes(step)) counts.set(step, (counts.get(step) ?? 0) + 1)
    }
    above = blank.startsWith('\t') ? above : blank.length
  }
  const most = [...counts].sort((a, b) => b[1] - a[1])[0]
  return most?.[0] ?? DEFAULT_WIDTH[extension] ?? 2
}

/** Makes Tab and Enter indent so. */
export function indentBy(indentation: Indentation): Extension {
  const unit = indentation === '\t' ? '\t' : ' '.repeat(indentation)
  return [indentUnit.of(unit), EditorState.tabSize.of(indentation === '\t' ? 4 : indentation)]
}
