// Makes the HTML of other programs what the editor reads: structure by elements, not by styles.

import { hrefOf } from '../link_text'
import type { RichNames } from '../schema_names'
import { nestWordLists } from './word_lists'

const DROPPED = 'script, style, meta, link, title, head, colgroup, template, noscript, svg, button'
const BLOCKS = 'p, div, h1, h2, h3, h4, h5, h6, ul, ol, li, pre, blockquote, table, hr'
const MONOSPACE = /courier|consolas|menlo|monaco|monospace|roboto mono|source code/i

function unwrap(element: Element): void {
  element.replaceWith(...element.childNodes)
}

function rename(element: Element, tag: string): HTMLElement {
  const made = element.ownerDocument.createElement(tag)
  for (const { name, value } of [...element.attributes]) made.setAttribute(name, value)
  made.append(...element.childNodes)
  element.replaceWith(made)
  return made
}

function removeNoise(root: Element): void {
  for (const element of root.querySelectorAll(DROPPED)) element.remove()
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_COMMENT)
  const comments: Node[] = []
  while (walker.nextNode()) comments.push(walker.currentNode)
  for (const comment of comments) comment.parentNode?.removeChild(comment)
  // The names of Word's own elements have a colon.
  for (const element of [...root.querySelectorAll('*')]) {
    if (element.localName.includes(':')) unwrap(element)
  }
  for (const br of root.querySelectorAll('br.Apple-interchange-newline')) br.remove()
  for (const image of root.querySelectorAll('img')) {
    if (!/^(?:https?:|[^:]*$)/i.test(image.getAttribute('src') ?? '')) image.remove()
  }
}

/** Returns the elements that a style stands for. */
function tagsOf(style: CSSStyleDeclaration): string[] {
  const tags: string[] = []
  const weight = style.fontWeight
  if (weight === 'bold' || weight === 'bolder' || Number(weight) >= 600) tags.push('strong')
  if (style.fontStyle === 'italic') tags.push('em')
  const line = `${style.textDecoration} ${style.textDecorationLine}`
  if (line.includes('line-through')) tags.push('del')
  if (MONOSPACE.test(style.fontFamily)) tags.push('code')
  return tags
}

/** Makes bold, italic and the like by style real elements. */
function readStyles(root: Element): void {
  for (const span of [...root.querySelectorAll<HTMLElement>('span[style], font[style]')]) {
    if (span.textContent.trim() === '' || span.closest('pre, h1, h2, h3, h4, h5, h6') !== null) {
      continue
    }
    const isCode = span.closest('code') !== null
    for (const tag of tagsOf(span.style)) {
      if (isCode || span.closest(tag) !== null) continue
      const made = span.ownerDocument.createElement(tag)
      made.append(...span.childNodes)
      span.append(made)
    }
  }
  // Google Docs wraps all in a `b` that is not bold.
  for (const bold of [...root.querySelectorAll<HTMLElement>('b, strong')]) {
    const isHeading = bold.parentElement?.matches('h1, h2, h3, h4, h5, h6')
    if (/^(?:normal|400)$/.test(bold.style.fontWeight) || isHeading) unwrap(bold)
  }
  for (const title of root.querySelectorAll('p.MsoTitle')) rename(title, 'h1')
}

/** Moves lists that are children of a list into the item before them. */
function nestLists(root: Element): void {
  for (const list of [...root.querySelectorAll(':is(ul, ol) > :is(ul, ol)')]) {
    const before = list.previousElementSibling
    if (before?.localName === 'li') before.append(list)
  }
  for (const list of root.querySelectorAll('ul, ol, li')) {
    list.setAttribute('data-spread', 'false')
    list.setAttribute('data-tight', 'true')
  }
}

const BOX = /^\s*\[([ xX])\]\s+/

/** Finds whether an item is a task and done, and takes the box out of it. */
function takeBox(item: Element): boolean | null {
  const own = (element: Element | null) => element !== null && element.closest('li') === item
  const box = item.querySelector('input[type="checkbox"], .checkbox, [role="checkbox"]')
  if (box !== null && own(box)) {
    const isDone =
      box.hasAttribute('checked') ||
      box.getAttribute('aria-checked') === 'true' ||
      box.classList.contains('checkbox-on')
    box.remove()
    return isDone
  }
  const role = item.getAttribute('role') === 'checkbox' ? item.getAttribute('aria-checked') : null
  if (role !== null) {
    for (const image of item.querySelectorAll('img')) image.remove()
    return role === 'true'
  }
  const walker = item.ownerDocument.createTreeWalker(item, NodeFilter.SHOW_TEXT)
  let text: Text | null = null
  while (walker.nextNode()) {
    text = walker.currentNode as Text
    if (text.data.trim() !== '') break
  }
  const match = text === null || !own(text.parentElement) ? null : BOX.exec(text.data)
  if (text === null || match === null) return null
  text.data = text.data.slice(match[0].length)
  return match[1] !== ' '
}

function markTasks(root: Element): void {
  for (const item of root.querySelectorAll('li')) {
    const isDone = takeBox(item)
    if (isDone === null) continue
    item.setAttribute('data-item-type', 'task')
    item.setAttribute('data-checked', String(isDone))
  }
}

/** Makes each row as long as the longest one, and the first one the head. */
function squareTable(table: Element): void {
  const rows = [...table.querySelectorAll('tr')].filter((row) => row.closest('table') === table)
  for (const row of rows) {
    for (const cell of [...row.children]) {
      const span = Math.min(50, Number(cell.getAttribute('colspan') ?? 1))
      cell.removeAttribute('colspan')
      cell.removeAttribute('rowspan')
      for (let n = 1; n < span; n++) cell.after(cell.ownerDocument.createElement(cell.localName))
      cell.textContent.trim() === '' ? cell.replaceChildren() : flattenCell(cell)
    }
  }
  const width = Math.max(0, ...rows.map((row) => row.childElementCount))
  for (const [index, row] of rows.entries()) {
    while (row.childElementCount < width) row.append(row.ownerDocument.createElement('td'))
    for (const cell of [...row.children]) rename(cell, index === 0 ? 'th' : 'td')
  }
  const made = table.ownerDocument.createElement('table')
  made.append(...rows)
  table.replaceWith(made)
}

/** A cell of markdown is one line. */
function flattenCell(cell: Element): void {
  for (const br of cell.querySelectorAll('br')) br.replaceWith(' ')
  for (const block of [...cell.querySelectorAll(BLOCKS)]) {
    if (block.nextSibling !== null) block.after(' ')
    unwrap(block)
  }
}

/** In a profile without tables, each row is a paragraph. */
function tableToParagraphs(table: Element): void {
  const rows = [...table.querySelectorAll('tr')].map((row) => {
    const paragraph = table.ownerDocument.createElement('p')
    paragraph.textContent = [...row.children].map((cell) => cell.textContent.trim()).join(' | ')
    return paragraph
  })
  table.replaceWith(...rows)
}

function readCode(root: Element): void {
  for (const pre of root.querySelectorAll('pre')) {
    const holders = [pre, pre.querySelector('code'), pre.parentElement]
    const names = holders.map((holder) => holder?.getAttribute('class') ?? '').join(' ')
    const language = /(?:language-|lang-|highlight-source-)([\w+#-]+)/.exec(names)?.[1]
    if (language !== undefined) {
      pre.setAttribute('data-language', language)
      pre.setAttribute('data-params', language)
    }
    pre.textContent = pre.textContent.replace(/\n$/, '')
  }
}

/** Removes paragraphs without content, which other programs write as distance. */
function removeEmpty(root: Element): void {
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const text = walker.currentNode as Text
    if (text.parentElement?.closest('pre') === null) text.data = text.data.replace(/\u00a0/g, ' ')
  }
  for (const block of [...root.querySelectorAll('p, h1, h2, h3, h4, h5, h6, div, li')].reverse()) {
    const isEmpty = block.textContent.trim() === '' && block.querySelector('img, hr') === null
    if (isEmpty) block.remove()
  }
  for (const br of root.querySelectorAll(':scope > br')) br.remove()
}

/** After all styles were read: a schema reads some of them differently. */
function removeStyles(root: Element): void {
  for (const element of root.querySelectorAll('[style]')) element.removeAttribute('style')
  for (const link of root.querySelectorAll('a')) {
    if (hrefOf(link.getAttribute('href') ?? '') === null) unwrap(link)
  }
}

/** Returns the content of pasted HTML as plain structure. */
export function cleanHtml(html: string, { table, hasTasks }: RichNames): HTMLElement {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  removeNoise(body)
  nestWordLists(body)
  readStyles(body)
  nestLists(body)
  if (hasTasks) markTasks(body)
  for (const grid of [...body.querySelectorAll('table')].reverse()) squareTable(grid)
  if (table === undefined)
    for (const grid of body.querySelectorAll('table')) tableToParagraphs(grid)
  readCode(body)
  removeEmpty(body)
  removeStyles(body)
  return body
}
