// Search in all files by words, case and expressions, with the keys; replacement in chosen lines of
// text and markdown, and its undo, which keeps what others wrote meanwhile.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, scenario, shows, until } from './one_file.mjs'

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes'))
    writeFileSync(join(directory, 'notes/plan.md'), '# Plan\n\nThe harbor, Harbor\n\nharbors\n')
    writeFileSync(join(directory, 'win.txt'), 'one\r\nharbor $1\r\nthree harbor harbor\r\n')
    writeFileSync(join(directory, 'none.txt'), 'nothing\n')
  },
  async (stage) => {
    const { url, token } = stage.server
    const page = await (await stage.browser.newContext()).newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${url}/#token=${token}`)
    await page.waitForSelector('.document-head')
    const panel = page.getByRole('dialog', { name: 'Search in all files' })
    const found = (text) => panel.getByRole('status').filter({ hasText: text }).waitFor()
    const switched = (name) => panel.getByRole('button', { name }).click()
    await page.keyboard.press('Control+Shift+F')
    await page.keyboard.type('harbor')
    await found('4 lines in 2 files')
    await switched('Whole words')
    await found('3 lines in 2 files')
    await switched('Match case')
    await found('3 lines in 2 files')
    await panel.getByRole('textbox', { name: 'Folder or file' }).fill('/notes')
    await found('1 line in 1 file')
    await panel.getByRole('textbox', { name: 'Folder or file' }).fill('')
    await switched('Whole words')
    await switched('Regular expression')
    await panel.getByRole('textbox', { name: 'Text to find' }).fill('(har)(bor)s?')
    await found('4 lines in 2 files')
    await panel.getByRole('textbox', { name: 'Text to find' }).fill('(har')
    await until(async () => !/lines/.test(await panel.innerText()), 'the problem of the expression')

    // The keys lead to a line.
    await panel.getByRole('textbox', { name: 'Text to find' }).fill('three har')
    await found('1 line in 1 file')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await shows(page, 'text')
    await page.locator('.cm-activeLine', { hasText: 'three' }).waitFor()

    // Replace, but for one line; `$` is a letter.
    await page.keyboard.press('Control+Shift+F')
    await page.keyboard.type('harbor')
    await found('4 lines in 2 files')
    await switched('Replace')
    await panel.getByRole('checkbox', { name: 'Replace in line 2' }).uncheck()
    await panel.getByRole('textbox', { name: 'Replace by' }).fill('port$1')
    await panel.getByRole('button', { name: 'Replace in 3 lines' }).click()
    await found('5 replacements in 2 files')
    const plan = '# Plan\n\nThe port$1, port$1\n\nport$1s\n'
    assertEqual(await stage.yfs('cat', '/notes/plan.md'), plan, 'the markdown')
    const win = 'one\r\nharbor $1\r\nthree port$1 port$1\r\n'
    assertEqual(await stage.yfs('cat', '/win.txt'), win, 'the text')

    // Another writes; the undo takes back only the replacement.
    await stage.yfs('append', '/win.txt', '--content', 'four\n')
    await stage.yfs('edit', '/notes/plan.md', '# Plan', '# The plan')
    await panel.getByRole('button', { name: 'Undo' }).click()
    await found('Taken back')
    const undone = '# The plan\n\nThe harbor, Harbor\n\nharbors\n'
    assertEqual(await stage.yfs('cat', '/notes/plan.md'), undone, 'the markdown after the undo')
    const both = 'one\r\nharbor $1\r\nthree harbor harbor\r\nfour\n'
    assertEqual(await stage.yfs('cat', '/win.txt'), both, 'the text after the undo')
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })

    // A reader only searches.
    const reading = (await stage.yfs('--quiet', 'token', 'new', '--read')).trim()
    const reader = await (await stage.browser.newContext()).newPage()
    await reader.goto(`${url}/#token=${reading}`)
    await reader.waitForSelector('.document-head')
    await reader.keyboard.press('Control+Shift+F')
    await reader.getByRole('button', { name: 'Match case' }).waitFor()
    assertEqual(await reader.getByRole('button', { name: 'Replace' }).count(), 0, 'no replacement')
  },
)
