// Lists of Word, which writes them as paragraphs with a style `mso-list:l0 level1 lfo1`.

const LEVEL = /mso-list:\s*l\d+\s+level(\d+)/i
const NUMBER = /^\(?(?:\d+|[a-z]|[ivxlcdm]+)[.)]/i

interface WordItem {
  paragraph: HTMLElement
  level: number
  isNumbered: boolean
  start: number
}

/** Returns the item that a paragraph stands for, without its bullet; null for other paragraphs. */
function takeItem(paragraph: Element): WordItem | null {
  if (!(paragraph instanceof HTMLElement)) return null
  const level = LEVEL.exec(paragraph.getAttribute('style') ?? '')?.[1]
  if (level === undefined) return null
  const spans = [...paragraph.querySelectorAll<HTMLElement>('span[style]')]
  const marker = spans.find((span) => /mso-list:\s*ignore/i.test(span.getAttribute('style') ?? ''))
  const text = marker?.textContent.trim() ?? ''
  marker?.remove()
  const start = Number.parseInt(text, 10)
  const isNumbered = NUMBER.test(text)
  return { paragraph, level: Number(level), isNumbered, start: Number.isNaN(start) ? 1 : start }
}

const makeList = ({ isNumbered, start, paragraph }: WordItem): HTMLElement => {
  const list = paragraph.ownerDocument.createElement(isNumbered ? 'ol' : 'ul')
  if (isNumbered && start !== 1) list.setAttribute('start', String(start))
  return list
}

/** Makes the paragraphs of lists real lists. */
export function nestWordLists(root: ParentNode & Node): void {
  let lists: { level: number; list: HTMLElement }[] = []
  let last: Element | null = null
  for (const element of [...root.querySelectorAll('p, h1, h2, h3, h4, h5, h6')]) {
    const item = takeItem(element)
    if (item === null) continue
    const isNext = last !== null && element.previousElementSibling === last
    if (!isNext) lists = []
    while (lists.length > 0 && lists.at(-1)!.level > item.level) lists.pop()
    const entry = element.ownerDocument.createElement('li')
    if (lists.at(-1)?.level !== item.level) {
      const list = makeList(item)
      const parent = lists.at(-1)?.list.lastElementChild
      if (parent) parent.append(list)
      else element.before(list)
      lists.push({ level: item.level, list })
    }
    entry.append(...item.paragraph.childNodes)
    lists.at(-1)!.list.append(entry)
    last = lists[0]!.list
    element.remove()
  }
}
