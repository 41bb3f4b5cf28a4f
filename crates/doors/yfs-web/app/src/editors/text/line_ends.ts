// How the lines of a file end. CodeMirror counts each line end as one and does not say which it is;
// in `Y.Text` CR LF is two. These ends, one for each line but the last, make offsets of both agree.

import type { Text } from '@codemirror/state'

export type LineEnd = '\n' | '\r\n' | '\r'

interface EndRun {
  end: LineEnd
  count: number
  /** The ends before this run, and how many of those are CR LF. */
  start: number
  nWideBefore: number
}

const LINE_END = /\r\n?|\n/g

/** Returns the line ends of a text, in their order. */
export const lineEndsOf = (text: string): LineEnd[] => (text.match(LINE_END) ?? []) as LineEnd[]

export interface EndChange {
  /** The first end that goes, or before which others come. */
  index: number
  nRemoved: number
  added: readonly LineEnd[]
}

export class LineEnds {
  private constructor(private readonly runs: readonly EndRun[]) {}

  static of(text: string): LineEnds {
    const builder = new RunBuilder()
    for (const end of lineEndsOf(text)) builder.add(end, 1)
    return new LineEnds(builder.runs)
  }

  /** Returns these ends with changes, which are in ascending order. */
  with(changes: readonly EndChange[]): LineEnds {
    const builder = new RunBuilder()
    let copied = 0
    for (const { index, nRemoved, added } of changes) {
      this.copy(builder, copied, index)
      for (const end of added) builder.add(end, 1)
      copied = index + nRemoved
    }
    this.copy(builder, copied, Infinity)
    return new LineEnds(builder.runs)
  }

  /** Whether a line ends in CR alone, so that a LF after it would make one end of both. */
  get hasLoneCr(): boolean {
    return this.runs.some(({ end }) => end === '\r')
  }

  /** The names of the ends that occur, as "CRLF"; LF in a file of one line. */
  get names(): string {
    const names = { '\n': 'LF', '\r\n': 'CRLF', '\r': 'CR' }
    const found = new Set(this.runs.map(({ end }) => names[end]))
    return found.size === 0 ? 'LF' : [...found].join('+')
  }

  /** The end that most lines have; the first of several, and LF in a file of one line. */
  get prevailing(): LineEnd {
    const counts = new Map<LineEnd, number>()
    for (const { end, count } of this.runs) counts.set(end, (counts.get(end) ?? 0) + count)
    let best: LineEnd = '\n'
    for (const [end, count] of counts) if (count > (counts.get(best) ?? 0)) best = end
    return best
  }

  /** Returns an end by its number, counted from 0; null after the last one. */
  at(index: number): LineEnd | null {
    return this.runAt(index)?.end ?? null
  }

  /** Returns the offset in the file of a position in the editor. */
  offsetOf(doc: Text, position: number): number {
    return position + this.nWide(doc.lineAt(position).number - 1)
  }

  /** Returns the position in the editor of an offset in the file, and whether CR LF is around it. */
  positionOf(doc: Text, offset: number): { position: number; isInEnd: boolean } {
    let low = 1
    let high = doc.lines
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (doc.line(middle).from + this.nWide(middle - 1) <= offset) low = middle
      else high = middle - 1
    }
    const line = doc.line(low)
    const position = offset - this.nWide(low - 1)
    return position > line.to
      ? { position: line.to, isInEnd: low < doc.lines }
      : { position, isInEnd: false }
  }

  /** Returns the text of the file between two positions in the editor. */
  textOf(doc: Text, from: number, to: number): string {
    const text = doc.sliceString(from, to, '\n')
    const first = doc.lineAt(from).number - 1
    const nEnds = doc.lineAt(to).number - 1 - first
    const run = this.runAt(first)
    if (nEnds === 0 || (run?.end === '\n' && first + nEnds <= run.start + run.count)) return text
    const lines = text.split('\n')
    return lines.map((line, n) => (n < nEnds ? line + this.at(first + n) : line)).join('')
  }

  /** Returns the length in the file of the text that the editor shows. */
  lengthOf(doc: Text): number {
    return doc.length + this.nWide(doc.lines - 1)
  }

  /** Returns the line in the editor of a line that ends in LF, as other programs count lines. */
  lineOf(lfLine: number): number {
    let nLf = 0
    for (const { end, count, start } of this.runs) {
      if (end === '\r') continue
      if (nLf + count >= lfLine - 1) return start + (lfLine - 1 - nLf) + 1
      nLf += count
    }
    return lfLine
  }

  /** Returns how many of the first ends are CR LF. */
  private nWide(nEnds: number): number {
    if (nEnds === 0) return 0
    const run = this.runAt(nEnds - 1)
    if (run === undefined) throw new Error(`there is no line end ${nEnds}`)
    return run.nWideBefore + (run.end === '\r\n' ? nEnds - run.start : 0)
  }

  private runAt(index: number): EndRun | undefined {
    let low = 0
    let high = this.runs.length
    while (low < high) {
      const middle = (low + high) >> 1
      const run = this.runs[middle]!
      if (run.start + run.count <= index) low = middle + 1
      else high = middle
    }
    return this.runs[low]
  }

  private copy(builder: RunBuilder, from: number, to: number): void {
    for (const { end, start, count } of this.runs) {
      const n = Math.min(to, start + count) - Math.max(from, start)
      if (n > 0) builder.add(end, n)
    }
  }
}

class RunBuilder {
  readonly runs: EndRun[] = []

  add(end: LineEnd, count: number): void {
    const last = this.runs.at(-1)
    if (last?.end === end) {
      last.count += count
      return
    }
    const start = last === undefined ? 0 : last.start + last.count
    const nWideBefore =
      last === undefined ? 0 : last.nWideBefore + (last.end === '\r\n' ? last.count : 0)
    this.runs.push({ end, count, start, nWideBefore })
  }
}
