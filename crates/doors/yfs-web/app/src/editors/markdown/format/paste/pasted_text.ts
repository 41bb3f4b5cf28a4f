// What pasted text without HTML means: a table of a spreadsheet, or markdown.

const SIGNS = [
  /^#{1,6} \S/m,
  /^\s*[-*+] \S/m,
  /^\s*\d+[.)] \S/m,
  /^```/m,
  /^> /m,
  /\*\*[^*\s][^*]*\*\*/,
  /\[[^\]]+\]\([^)\s]+\)/,
  /^\|.*\|\s*\n\|\s*:?-/m,
]

/** Reports whether a text is written in markdown. */
export function isMarkdown(text: string): boolean {
  return SIGNS.some((sign) => sign.test(text))
}

/** Returns the cells of a text that a spreadsheet copied; null for other texts. */
export function cellsOf(text: string): string[][] | null {
  const lines = text.replace(/\r\n?/g, '\n').replace(/\n$/, '').split('\n')
  const rows = lines.map((line) => line.split('\t').map((cell) => cell.trim()))
  const width = rows[0]!.length
  const isTable = rows.length > 1 && width > 1 && rows.every((row) => row.length === width)
  return isTable ? rows : null
}

/** Returns the HTML of a table with a head. */
export function tableHtml(rows: string[][]): string {
  const holder = document.createElement('table')
  for (const [index, cells] of rows.entries()) {
    const row = document.createElement('tr')
    row.append(
      ...cells.map((text) => {
        const cell = document.createElement(index === 0 ? 'th' : 'td')
        cell.textContent = text
        return cell
      }),
    )
    holder.append(row)
  }
  return holder.outerHTML
}
