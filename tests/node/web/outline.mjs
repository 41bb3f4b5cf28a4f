// The outline, the counts, the links and the bar of a document in the application, in a window and
// on a phone.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, follow, saved, scenario, shows, tap, until } from './one_file.mjs'

const { PICTURES } = process.env

/** The documents that link to `/notes/The plan.md`, and some that seem to. */
const LINKING = {
  'wiki.md': '# Wiki\n\nFirst.\n\nSee [[the plan|it]], not `[[the plan]]`.\n',
  'notes/beside.md': 'A [link](The%20plan.md#part) and\n[another](<The plan.md> "T") here.\n',
  'notes/deep/below.md': [
    `${'word '.repeat(300)}[up](../The%20plan.md) end.`,
    '',
    '[p]: /notes/The%20plan.md',
    '',
  ].join('\n'),
  'other/elsewhere.md': 'To [its own](The%20plan.md).\n',
  'other/The plan.md': 'Another plan.\n',
  'code.txt': '[[the plan]]\n',
}

/** A document lists the lines of others that link to it, and opens them. */
async function checkBacklinks({ page, runCommand, stage }) {
  const panel = page.getByRole('region', { name: 'Links to this file' })
  const status = (text) => panel.getByRole('status').filter({ hasText: text }).waitFor()
  await runCommand('Links to this file')
  await status('5 lines in 3 files')
  const files = () => panel.getByRole('heading', { level: 3 }).allTextContents()
  const found = ['/notes/beside.md', '/notes/deep/below.md', '/wiki.md']
  assertEqual(await files(), found, 'the documents that link')
  const texts = await panel.locator('.backlinks-text').allTextContents()
  assertEqual(texts[0], 'A [link](The%20plan.md#part) and', 'the line of a link')
  if (!/^…word .*\[up\]\(.*\) end\.$/.test(texts[2])) throw new Error(`a long line: ${texts[2]}`)
  assertEqual(
    await panel.locator('mark').allTextContents(),
    [
      'The%20plan.md#part',
      'The plan.md',
      '../The%20plan.md',
      '/notes/The%20plan.md',
      '[[the plan|it]]',
    ],
    'the links',
  )
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/backlinks.png` })
  // What others write, and another name of the file.
  await stage.yfs('append', '/other/elsewhere.md', '--content', '\n![[the plan]] too\n')
  await status('6 lines in 4 files')
  await stage.yfs('mv', '/notes/The plan.md', '/notes/Our plan.md')
  await status('No document links to this file')
  await stage.yfs('mv', '/notes/Our plan.md', '/notes/The plan.md')
  await status('6 lines in 4 files')
  // A line opens its document there.
  await panel.getByRole('button', { name: 'See [[the plan|it]]' }).click()
  await page.locator('.ProseMirror h1', { hasText: 'Wiki' }).waitFor()
  const atCaret = () =>
    page.evaluate(() => getSelection().anchorNode?.parentElement?.closest('p')?.textContent)
  await until(async () => /^See/.test(await atCaret()), 'the caret in the line')
}

const sections = Array.from({ length: 40 }, (_, n) => `## Part ${n}\n\nSome words here.\n`)

await scenario(
  ({ directory }) => {
    writeFileSync(
      join(directory, 'doc.md'),
      `# Title\n\n${sections.join('\n')}\n### Last\n\nEnd.\n`,
    )
    for (const name of ['notes/deep', 'other'])
      mkdirSync(join(directory, name), { recursive: true })
    for (const [name, text] of Object.entries(LINKING)) writeFileSync(join(directory, name), text)
    writeFileSync(join(directory, 'notes/The plan.md'), '# Part\n\nOf the plan.\n')
    writeFileSync(join(directory, 'rtl.md'), 'שלום עולם\n\n- פריט\n\nEnglish\n')
  },
  async (stage) => {
    const enter = async (options) => {
      const context = await stage.browser.newContext(options)
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => stage.errors.push(stack))
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      return page
    }
    const openFile = async (page, path) => {
      await page.locator(`[role="treeitem"][title="${path}"]`).click()
      await shows(page, 'richtext')
    }
    const page = await enter({ viewport: { width: 1200, height: 800 } })
    await openFile(page, '/doc.md')
    const bar = page.getByRole('toolbar', { name: 'Format', exact: true })
    await bar.waitFor()
    assertEqual(await page.getAttribute('.ProseMirror', 'spellcheck'), 'true', 'spell check')

    // The outline follows the document; a click goes to the heading.
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Outline' }).click()
    const outline = page.getByRole('navigation', { name: 'Outline' })
    await outline.getByText('203 words · 1 minute to read').waitFor()
    await outline.getByRole('button', { name: 'Last' }).click()
    await page.keyboard.press('End')
    await page.keyboard.type(' of all')
    await outline.getByRole('button', { name: 'Last of all' }).waitFor()
    await outline.getByText('205 words').waitFor()
    const isVisible = () =>
      page.evaluate(() => {
        const { top } = document.querySelector('.ProseMirror h3').getBoundingClientRect()
        return top > 0 && top < innerHeight
      })
    await until(isVisible, 'the heading in view')
    await saved(page)
    const text = await stage.yfs('cat', '/doc.md')
    if (!text.endsWith('### Last of all\n\nEnd.\n'))
      throw new Error(`the end is ${text.slice(-40)}`)

    // The list of symbols has the headings; its key works from the tree as well.
    await page.locator('[role="treeitem"][title="/doc.md"]').focus()
    await page.keyboard.press('Control+Shift+O')
    await page.keyboard.type('part 33')
    const symbols = page.getByRole('dialog', { name: 'Go to a symbol' })
    await until(async () => (await symbols.locator('li').count()) === 1, 'the heading')
    await page.keyboard.press('Enter')
    await symbols.waitFor({ state: 'detached' })
    await page.keyboard.press('End')
    await page.keyboard.type('!')
    await outline.getByRole('button', { name: 'Part 33!' }).waitFor()
    await page.keyboard.press('Backspace')

    // The list of commands switches the bar off, also for the next visit.
    const runCommand = async (name) => {
      await page.keyboard.press('F1')
      await page.keyboard.type(name)
      await page.keyboard.press('Enter')
    }
    await runCommand('Format bar')
    await bar.waitFor({ state: 'detached' })
    await page.reload()
    await shows(page, 'richtext')
    await page.locator('.page-bar').waitFor({ state: 'attached' })
    assertEqual(await bar.count(), 0, 'bars after a reload')
    await runCommand('Format bar')
    await bar.waitFor()

    await page.goto(`${stage.server.url}/#/notes/The%20plan.md`)
    await page.locator('.ProseMirror p', { hasText: 'Of the plan' }).waitFor()
    await checkBacklinks({ page, runCommand, stage })

    // The first letter of a block decides its direction.
    await openFile(page, '/rtl.md')
    // The file before has no list.
    await page.waitForSelector('.ProseMirror > ul p')
    /** Returns how far the first letter is from the left edge of the page. */
    const distanceOf = (selector) =>
      page.$eval(selector, (element) => {
        const range = document.createRange()
        range.selectNodeContents(element)
        const page = document.querySelector('.ProseMirror').getBoundingClientRect()
        return Math.round(range.getBoundingClientRect().left - page.left)
      })
    const isRight = async (selector) => (await distanceOf(selector)) > 300
    assertEqual(await isRight('.ProseMirror > p:first-child'), true, 'Hebrew')
    assertEqual(await isRight('.ProseMirror > ul p'), true, 'a list in Hebrew')
    assertEqual(await isRight('.ProseMirror > p:last-child'), false, 'English')

    // On a phone, the bar is at the lower edge while the text has the focus.
    const phone = await enter({ viewport: { width: 390, height: 700 }, hasTouch: true })
    await phone.waitForSelector('.document-head')
    await follow(phone, `${stage.server.url}/#/doc.md`)
    await shows(phone, 'richtext')
    await tap(phone.locator('.ProseMirror p').first())
    const box = await until(() => phone.locator('.page-bar:not(.is-idle)').boundingBox(), 'the bar')
    assertEqual(Math.round(box.y + box.height), 700, 'the lower edge of the bar')
  },
)
