// The application at `/`: two browsers open the link of the server, and make, edit, rename, trash
// and restore files; each sees what the other does. A link for reading offers no change.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  addressOf,
  assertEqual,
  isFirefox,
  saved,
  scenario,
  shows,
  textOf,
  until,
} from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

async function enter(page, text) {
  await page.waitForSelector('.tree-input')
  await page.keyboard.press('Control+A')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Prints a file, and drags one into a directory; the driver of Firefox cannot check or do that. */
async function printAndDrag(page) {
  // A long file is printed whole, and without what lies around it.
  await row(page, '/notes/long.md').click()
  await shows(page, 'richtext')
  // Most of it is not laid out before it is printed.
  const all = () => page.evaluate(() => document.querySelector('.ProseMirror').textContent)
  await until(async () => (await all()).includes('Section 249'), 'the end of the file')
  const paper = (await page.pdf({ format: 'A4' })).toString('latin1')
  const nPages = paper.match(/\/Type\s*\/Page\b/g).length
  assertEqual(nPages > 20, true, `${nPages} pages`)
  await page.emulateMedia({ media: 'print' })
  assertEqual(await row(page, '/log.txt').isVisible(), false, 'the tree on paper')
  await page.emulateMedia({ media: null })
  await row(page, '/log.txt').click()
  await shows(page, 'text')
  await row(page, '/from-disk.txt').dragTo(row(page, '/notes'))
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes'))
    writeFileSync(join(directory, 'notes/plan.md'), '# Plan\n\nListen.\n')
    writeFileSync(join(directory, 'log.txt'), 'Monday\n')
    const text = 'The text of a section. '.repeat(12).trim()
    const sections = Array.from({ length: 250 }, (_, n) => `## Section ${n}\n\n${text}\n`)
    writeFileSync(join(directory, 'notes/long.md'), sections.join('\n'))
  },
  async (stage) => {
    const enterWorkspace = async (token) => {
      const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => stage.errors.push(stack))
      await page.goto(`${stage.server.url}/#token=${token}`)
      await page.waitForSelector('[role="treeitem"]')
      return page
    }
    const ana = await enterWorkspace(stage.server.token)
    const ben = await enterWorkspace(stage.server.token)
    assertEqual(
      (await addressOf(ana)).hash.includes('token'),
      false,
      'the token leaves the address bar',
    )

    // Ana makes a file, which opens; Ben sees it, opens it, and sees what she types.
    await row(ana, '/notes').click()
    await ana.locator('.files-head').getByRole('button', { name: 'New file' }).click()
    await enter(ana, 'todo.txt')
    await row(ben, '/notes').click()
    await row(ben, '/notes/todo.txt').click()
    await shows(ben, 'text')
    await shows(ana, 'text')
    await ana.click('.cm-content')
    await ana.keyboard.type('Buy milk')
    await until(async () => (await textOf(ben)).includes('Buy milk'), 'what Ana types')
    await saved(ana)
    assertEqual(await stage.yfs('cat', '/notes/todo.txt'), 'Buy milk', 'the stored file')
    // Each sees where the other is.
    await row(ben, '/notes/todo.txt').locator('.dot').waitFor()

    // Ben renames it with the keyboard; Ana's editor stays on the file.
    await row(ben, '/notes/todo.txt').click()
    await ben.locator('[role="tree"]').focus()
    await ben.keyboard.press('F2')
    await enter(ben, 'list.txt')
    await row(ana, '/notes/list.txt').waitFor()
    await ana.click('.cm-content')
    await ana.keyboard.press('Control+End')
    await ana.keyboard.type(', bread')
    await until(async () => (await textOf(ben)).includes('milk, bread'), 'typing after the rename')

    // Into the trash, and back.
    await row(ben, '/log.txt').click()
    await ben.locator('[role="tree"]').focus()
    await ben.keyboard.press('Delete')
    await row(ana, '/log.txt').waitFor({ state: 'detached' })
    await ana.getByRole('button', { name: 'Trash' }).click()
    await ana.getByRole('button', { name: 'Restore /log.txt' }).click()
    await row(ben, '/log.txt').waitFor()
    // The key closes it, also after the button that had the focus is gone.
    const trash = ana.getByRole('dialog', { name: 'Trash' })
    for (const opens of [false, true]) {
      if (opens) await ana.getByRole('button', { name: 'Trash' }).click()
      await ana.keyboard.press('Escape')
      await trash.waitFor({ state: 'detached' })
    }

    // Quick open, and what the disk does.
    await ana.keyboard.press('Control+P')
    await ana.keyboard.type('plan')
    await ana.keyboard.press('Enter')
    await shows(ana, 'richtext')
    writeFileSync(join(stage.directory, 'from-disk.txt'), 'written by a program\n')
    await row(ana, '/from-disk.txt').waitFor()

    // A search finds words in other files, and opens them.
    await ana.keyboard.press('Control+Shift+F')
    await ana.getByRole('textbox', { name: 'Text to find' }).fill('mond')
    await ana.locator('.search-line', { hasText: 'Monday' }).click()
    await shows(ana, 'text')
    await until(async () => (await textOf(ana)).includes('Monday'), 'the file that was found')

    // Back and forward lead through the files that were open.
    await ana.goBack()
    await shows(ana, 'richtext')
    const { hash } = await addressOf(ana)
    assertEqual(hash.split('?')[0], '#/notes/plan.md', 'the address of the file before')
    await ana.goForward()
    await shows(ana, 'text')

    // The feed tells people and agents apart, and shows what comes while it is open.
    await ben.getByRole('button', { name: 'Activity' }).click()
    await ben.locator('.activity li', { hasText: 'list.txt' }).first().waitFor()
    await ana.click('.cm-content')
    await ana.keyboard.press('Control+End')
    await ana.keyboard.type('Noon\n')
    const ofLog = ben.locator('.activity li', { hasText: 'log.txt' })
    await ofLog.filter({ hasText: 'edited, ' }).waitFor()
    await stage.yfs('append', '/log.txt', '--content', 'Tuesday\n', '--actor', 'agent:reviewer')
    const ofAgent = ofLog.filter({ hasText: 'reviewer' })
    await ofAgent.locator('[data-kind="agent"]').waitFor()

    if (!isFirefox) await printAndDrag(ana)
    else await stage.yfs('mv', '/from-disk.txt', '/notes/from-disk.txt')
    await row(ben, '/notes/from-disk.txt').waitFor()

    // Two files get one name, here and in a copy of the workspace; Ana renames one of them.
    const copy = join(stage.directory, '../', `${basename(stage.directory)}-copy`)
    await stage.yfs('clone', stage.server.url, copy, '--token', stage.server.token)
    await stage.yfs('write', '/twin.txt', '--content', 'mine')
    await stage.yfs('write', '/twin.txt', '--content', 'theirs', '--workspace', copy)
    await stage.yfs('sync', '--workspace', copy)
    rmSync(copy, { recursive: true })
    await ana.getByRole('button', { name: 'same name' }).click()
    const settle = ana.getByRole('dialog', { name: 'Conflicts' })
    await settle.getByRole('textbox').last().fill('other.txt')
    await settle.getByRole('button', { name: 'Rename' }).last().click()
    await settle.getByText('No conflicts').waitFor()
    await settle.getByRole('button', { name: 'Close' }).click()
    await row(ben, '/other.txt').waitFor()
    await ana.getByRole('button', { name: 'same name' }).waitFor({ state: 'detached' })
    // The last one was shown with the plain name, and the other one keeps its number.
    const names = ['/twin (1).txt', '/other.txt']
    const both = await Promise.all(names.map((name) => stage.yfs('cat', name)))
    assertEqual(both.toSorted().join(), 'mine,theirs', 'both contents')

    // The palette does what buttons do.
    await ana.keyboard.press('F1')
    await ana.keyboard.type('new fold')
    await ana.keyboard.press('Enter')
    await enter(ana, 'drafts')
    await row(ben, '/drafts').waitFor()

    // A link for reading shows everything and offers no change.
    const token = (await stage.yfs('--quiet', 'token', 'new', '--read')).trim()
    const reader = await enterWorkspace(token)
    await row(reader, '/log.txt').click()
    await shows(reader, 'text')
    assertEqual(await reader.getByRole('button', { name: 'New file' }).count(), 0, 'no new files')
    await reader.getByText('read-only').first().waitFor()
    const before = await stage.yfs('cat', '/log.txt')
    await reader.click('.cm-content')
    await reader.keyboard.type('not mine')
    await row(reader, '/log.txt').click()
    for (const key of ['F2', 'Delete']) await reader.keyboard.press(key)
    assertEqual(await reader.locator('.tree-input').count(), 0, 'no field for a name')
    await reader.keyboard.press('F1')
    await reader.getByRole('option', { name: 'Show the trash' }).waitFor()
    assertEqual(await reader.getByRole('option', { name: 'New file' }).count(), 0, 'no command')
    // What Ana types now arrives after all that the reader sent, if anything.
    await row(ana, '/log.txt').click()
    await ana.click('.cm-content')
    await ana.keyboard.press('Control+End')
    await ana.keyboard.type('Wednesday')
    await until(async () => (await textOf(reader)).includes('Wednesday'), 'what Ana types')
    assertEqual(await stage.yfs('cat', '/log.txt'), `${before}Wednesday`, 'the file')

    // A link that is not valid says so.
    const context = await stage.browser.newContext()
    const stranger = await context.newPage()
    await stranger.goto(`${stage.server.url}/#token=none`)
    await stranger.getByText('cannot be opened').waitFor()
  },
)
