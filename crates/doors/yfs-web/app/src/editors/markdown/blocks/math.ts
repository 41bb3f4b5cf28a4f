// Formulas by KaTeX; loaded when a document has one.

import katex from 'katex'
import 'katex/dist/katex.min.css'

/** Shows a formula; rejects with what is wrong in its source. */
export async function showMath(
  target: HTMLElement,
  source: string,
  displayMode: boolean,
): Promise<void> {
  katex.render(source, target, { displayMode, throwOnError: true, trust: false, maxExpand: 500 })
}
