// Comma- and tab-separated values, as RFC 4180 and spreadsheets write them.

/** Returns what separates the cells: a tab, else the more frequent one of the first line. */
export function separatorOf(name: string, text: string): string {
  if (/\.tsv$/i.test(name)) return '\t'
  const line = text.slice(0, text.search(/[\r\n]|$/))
  const count = (separator: string) => line.split(separator).length
  return [',', ';', '\t'].sort((a, b) => count(b) - count(a))[0]!
}

/** Returns the rows of a text; quotes hold separators, line ends and doubled quotes. */
export function parseTable(text: string, separator: string): string[][] {
  const rows: string[][] = []
  const cell = new RegExp(`"((?:[^"]|"")*)"?([^${separator}\r\n]*)|([^${separator}\r\n]*)`, 'y')
  let at = text.startsWith('\ufeff') ? 1 : 0
  let row: string[] = []
  while (at < text.length) {
    cell.lastIndex = at
    const match = cell.exec(text)!
    const [, quoted, after = '', plain = ''] = match
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"') + after)
    at = cell.lastIndex
    if (text[at] === separator) {
      at += 1
      if (at < text.length && text[at] !== '\r' && text[at] !== '\n') continue
      row.push('')
    }
    rows.push(row)
    row = []
    at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1
  }
  return rows
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

/** Orders numbers by their value, other texts as people do, and empty cells last. */
export function compareCells(a: string, b: string): number {
  if (a === '' || b === '') return Number(a === '') - Number(b === '')
  const [first, second] = [Number(a), Number(b)]
  if (!Number.isNaN(first) && !Number.isNaN(second)) return first - second
  return collator.compare(a, b)
}
