// A long markdown file: only what is near the viewport is laid out, and nothing of it shows. The
// whole document passes by when it is scrolled, keys go to its ends, a cursor that is far away is
// typed at, a search of the browser finds all, and what another person adds above moves nothing.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const N_SECTIONS = 600
const STEP = 500

function section(n) {
  const lines = Array.from({ length: n % 5 }, (_, line) => `- point ${line} of ${n}`)
  const text = `The text of section ${n}. `.repeat(1 + (n % 7)).trim()
  return `## Section ${n}\n\n${text}\n${lines.length === 0 ? '' : `\n${lines.join('\n')}\n`}`
}

const nShown = (page) =>
  page.evaluate(() => {
    const blocks = [...document.querySelector('.ProseMirror').children]
    return blocks.filter((block) => block.getClientRects().length > 0).length
  })

/** Runs a function with the scrolled element, and waits until its effect is painted. */
async function scroll(page, by) {
  await page.evaluate(async (by) => {
    const scroller = document.querySelector('.editor-pane .rich-page').parentElement
    scroller.scrollTop = by === 'start' ? 0 : scroller.scrollTop + by
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    for (let n = 0; n < 3; n++) await frame()
  }, by)
}

/** Returns the sections with a heading in the viewport, and the places of their tops. */
const sectionsInView = (page) =>
  page.evaluate(() => {
    const scroller = document.querySelector('.editor-pane .rich-page').parentElement
    const { top, bottom } = scroller.getBoundingClientRect()
    const places = []
    for (const heading of document.querySelectorAll('.ProseMirror h2')) {
      const place = heading.getBoundingClientRect()
      if (place.height === 0 || place.top < top || place.bottom > bottom) continue
      places.push([heading.textContent, place.top])
    }
    const max = scroller.scrollHeight - scroller.clientHeight
    return { places, isEnd: scroller.scrollTop >= max - 1 }
  })

/** Scrolls through the document; returns the headings that came by, in order. */
async function headingsOf(page) {
  const seen = new Set()
  await scroll(page, 'start')
  for (;;) {
    const { places, isEnd } = await sectionsInView(page)
    for (const [name] of places) seen.add(name)
    if (isEnd) return [...seen]
    const last = places.at(-1)
    await scroll(page, STEP)
    const now = new Map((await sectionsInView(page)).places)
    const moved = last === undefined || !now.has(last[0]) ? null : last[1] - now.get(last[0])
    const { isEnd: isLast } = await sectionsInView(page)
    if (moved !== null && !isLast && Math.abs(moved - STEP) > 2) {
      throw new Error(`${last[0]} moved by ${moved} instead of ${STEP}`)
    }
  }
}

/** Returns what is at the cursor, if the cursor is in the viewport. */
const textAtCursor = (page) =>
  page.evaluate(() => {
    const { focusNode } = window.getSelection()
    const block = focusNode.nodeType === 1 ? focusNode : focusNode.parentElement
    const place = block.getBoundingClientRect()
    const isShown = place.height > 0 && place.bottom > 0 && place.top < window.innerHeight
    return isShown ? block.closest('.ProseMirror > *').textContent : null
  })

/** Reports whether the cursor is at the end of a block. */
const isAtEndOf = (page, text) =>
  page.evaluate((text) => {
    const { focusNode, focusOffset, isCollapsed } = window.getSelection()
    const block = focusNode?.parentElement?.closest('.ProseMirror > *')
    return isCollapsed && block?.textContent === text && focusOffset === focusNode.length
  }, text)

const names = Array.from({ length: N_SECTIONS }, (_, n) => `Section ${n}`)
const nBlocks = names.reduce((sum, _, n) => sum + (n % 5 === 0 ? 2 : 3), 0)

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'long.md'), names.map((_, n) => section(n)).join('\n'))
  },
  async (stage) => {
    const ana = await stage.open('/long.md', { name: 'Ana' })
    await shows(ana, 'richtext')
    await until(async () => (await nShown(ana)) > 10, 'the first blocks')
    const few = await nShown(ana)
    if (few > 400) throw new Error(`${few} of ${nBlocks} blocks are in the layout`)
    const seen = await headingsOf(ana)
    const missed = names.findIndex((name, n) => seen[n] !== name)
    assertEqual([seen.length, missed], [N_SECTIONS, -1], 'the headings that came by')

    // The cursor is at the start, which is far away now.
    await scroll(ana, 'start')
    await ana.click('.ProseMirror > p:nth-of-type(1)')
    await ana.keyboard.press('Control+Home')
    await scroll(ana, 8000)
    await ana.keyboard.type('Far ')
    await until(
      async () => (await textAtCursor(ana)) === 'Far Section 0',
      'what was typed far away',
    )
    await ana.keyboard.press('Control+End')
    await ana.keyboard.type(' The end.')
    await until(async () => (await textAtCursor(ana))?.endsWith(' The end.'), 'the end')
    await ana.keyboard.press('Control+Shift+Home')
    const selected = await ana.evaluate(() => String(window.getSelection()).length)
    await ana.keyboard.press('ArrowLeft')
    await until(async () => (await textAtCursor(ana)) === 'Far Section 0', 'the start')
    // The editor takes the selection from the page, and scrolls to it, in a later frame.
    await scroll(ana, 0)
    await saved(ana)

    // What another person adds above moves nothing of what is read.
    await scroll(ana, 9000)
    const before = (await sectionsInView(ana)).places[0]
    const text = await stage.yfs('cat', '/long.md')
    const added = Array.from({ length: 30 }, (_, n) => `Above ${n}.\n\n`).join('')
    const { status } = await stage.fetch('/api/files/long.md', {
      method: 'PUT',
      headers: { 'Content-Type': 'text/markdown' },
      body: added + text,
    })
    assertEqual(status, 200, 'the status of PUT')
    const isAdded = () =>
      ana.evaluate(() => document.querySelector('.ProseMirror').textContent.startsWith('Above 0.'))
    await until(isAdded, 'what was added above')
    await scroll(ana, 0)
    const after = new Map((await sectionsInView(ana)).places).get(before[0])
    if (after === undefined || Math.abs(after - before[1]) > 2) {
      throw new Error(`${before[0]} was at ${before[1]} and is at ${after}`)
    }

    // A search of the browser finds all, until the next key is typed.
    await ana.keyboard.press('Control+f')
    assertEqual(await nShown(ana), nBlocks + 30, 'the blocks that a search finds')
    // The click is right of the text. It was taken to be at the start of the heading, which had no
    // layout yet, and `End` left the cursor there.
    await ana.click('.ProseMirror > h2:nth-of-type(300)')
    assertEqual(await isAtEndOf(ana, 'Section 299'), true, 'the cursor is at the end of the click')
    await ana.keyboard.press('Home')
    await ana.keyboard.press('End')
    await ana.keyboard.type('!')
    await until(async () => (await nShown(ana)) < 400, 'the layout of a part')
    // Milkdown numbers the items of lists after changes of blocks, also in the middle of a list.
    await ana.keyboard.press('Enter')
    await ana.keyboard.type('1. one')
    await ana.keyboard.press('Enter')
    await ana.keyboard.type('three')
    await ana.keyboard.press('ArrowUp')
    await ana.keyboard.press('End')
    await ana.keyboard.press('Enter')
    await ana.keyboard.type('two')
    const labels = () =>
      ana.evaluate(() => {
        const items = document.querySelectorAll('.ProseMirror > ol:first-of-type > li')
        return [...items].map((item) => `${item.dataset.label} ${item.textContent}`).join()
      })
    await until(async () => (await labels()) === '1. one,2. two,3. three', 'the numbers of a list')
    await saved(ana)
    const file = await stage.yfs('cat', '/long.md')
    const typed = '## Section 299!\n\n1. one\n2. two\n3. three\n'
    const expected = (added + text).replace('## Section 299\n', typed)
    assertEqual(file === expected, true, 'the file is what was typed')
    if (!file.includes('## Far Section 0\n')) throw new Error('the start is missing')
    if (!file.trimEnd().endsWith(' The end.')) throw new Error('the end is missing')
    if (selected < 1000) throw new Error(`only ${selected} characters were selected`)
  },
)
