// The outline, the counts and the bar of a document in the application, in a window and on a phone.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, follow, saved, scenario, shows, tap, until } from './one_file.mjs'

const sections = Array.from({ length: 40 }, (_, n) => `## Part ${n}\n\nSome words here.\n`)

await scenario(
  ({ directory }) => {
    writeFileSync(
      join(directory, 'doc.md'),
      `# Title\n\n${sections.join('\n')}\n### Last\n\nEnd.\n`,
    )
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
