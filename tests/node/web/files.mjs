// The tree of files: names typed in place, the menu, keys, the filter, favorites, undo, and what is
// refused in words.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allowClipboard, assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)
const tree = (page) => page.locator('[role="tree"]')
const focused = (page) => page.evaluate(() => document.activeElement?.className ?? '')
const active = (page) =>
  page.evaluate(() => {
    const id = document.querySelector('[role="tree"]').getAttribute('aria-activedescendant')
    return id === null ? null : (document.getElementById(id)?.title ?? 'missing')
  })
const selection = (page) =>
  page.$$eval('[role="treeitem"][aria-selected="true"]', (all) => all.map(({ title }) => title))

const workspaceOf = (page) =>
  page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('yfs:token')}` }
    return (await (await fetch('/api/tree', { headers })).json()).workspace
  })

async function choose(page, path, label) {
  await row(page, path).click({ button: 'right' })
  await page.getByRole('menuitem', { name: label }).click()
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes/deep'), { recursive: true })
    for (const name of ['alpha.txt', 'beta.txt', 'bravo.md', 'big.csv']) {
      writeFileSync(join(directory, 'notes', name), `${name}\n`.repeat(name === 'big.csv' ? 99 : 1))
    }
    writeFileSync(join(directory, 'notes/deep/found.txt'), 'x\n')
    writeFileSync(join(directory, 'zebra.txt'), 'z\n')
  },
  async (stage) => {
    const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
    await allowClipboard(context)
    const page = await context.newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
    await row(page, '/notes').waitFor()

    // A new file is named in its directory, opens, and has the caret.
    const before = await row(page, '/notes').boundingBox()
    await row(page, '/notes').click()
    await page.keyboard.press('F1')
    await page.keyboard.type('new file')
    await page.keyboard.press('Enter')
    const field = page.locator('.tree-input')
    await field.waitFor()
    const [first, typed] = [await row(page, '/notes').boundingBox(), await field.boundingBox()]
    assertEqual(first.y, before.y, 'the tree stays where it is')
    assertEqual(typed.y > first.y && typed.y < first.y + 60, true, 'below its directory')
    await page.keyboard.type('alpha.txt')
    await page.keyboard.press('Enter')
    await page.getByText('alpha.txt exists already.').waitFor()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('n'.repeat(300))
    await page.keyboard.press('Enter')
    const refusal = page.getByRole('alert')
    await until(async () => (await refusal.textContent()).includes('…'), 'a long name is cut')
    const words = await refusal.textContent()
    assertEqual(words.length < 150 && !/E[A-Z]{4}/.test(words), true, words)
    await page.keyboard.press('Control+A')
    await page.keyboard.type('fresh.txt')
    await page.keyboard.press('Enter')
    await shows(page, 'text')
    await until(async () => (await focused(page)).includes('cm-content'), 'the caret')
    await page.keyboard.type('typed at once')
    await saved(page)
    assertEqual(await stage.yfs('cat', '/notes/fresh.txt'), 'typed at once', 'the new file')

    // A new folder keeps the focus; Escape gives it back.
    await choose(page, '/notes/deep', 'New folder')
    await field.waitFor()
    await page.keyboard.type('inner')
    await page.keyboard.press('Enter')
    await row(page, '/notes/deep/inner').waitFor()
    await until(async () => (await active(page)) === '/notes/deep/inner', 'the row of the folder')
    assertEqual(await focused(page), 'tree', 'the focus in the tree')
    await page.keyboard.press('F2')
    await field.waitFor()
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    assertEqual(await focused(page), 'tree', 'the focus after Escape')

    // Letters, arrows with Shift, and Ctrl+A.
    await page.keyboard.press('Home')
    await page.keyboard.type('be')
    assertEqual(await active(page), '/notes/beta.txt', 'what begins with the letters')
    await page.keyboard.press('Shift+ArrowDown')
    await until(async () => (await selection(page)).length === 2, 'two rows')
    assertEqual((await selection(page))[0], '/notes/beta.txt', 'the first of both')
    await page.keyboard.press('Control+A')
    await until(async () => (await selection(page)).length > 5, 'all rows')

    // Renamed, moved to the trash, and taken back.
    await row(page, '/notes/beta.txt').click()
    await tree(page).focus()
    await page.keyboard.press('F2')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('gamma.txt')
    await page.keyboard.press('Enter')
    await row(page, '/notes/gamma.txt').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, '/notes/beta.txt').waitFor()
    await choose(page, '/notes/beta.txt', 'Move to the trash')
    await row(page, '/notes/beta.txt').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, '/notes/beta.txt').waitFor()

    // The menu by keys, for several at once; duplicate, and cut and paste by keys.
    await row(page, '/notes/alpha.txt').click()
    await row(page, '/notes/beta.txt').click({ modifiers: ['Control'] })
    await tree(page).focus()
    await page.keyboard.press('Shift+F10')
    await page.getByRole('menu', { name: '2 items selected' }).waitFor()
    assertEqual(await page.getByRole('menuitem', { name: 'Rename' }).count(), 0, 'one at a time')
    await page.getByRole('menuitem', { name: 'Duplicate' }).click()
    await row(page, '/notes/alpha copy.txt').waitFor()
    await row(page, '/notes/beta copy.txt').click()
    await tree(page).focus()
    await page.keyboard.press('Control+X')
    await row(page, '/notes/deep/inner').click()
    await tree(page).focus()
    await page.keyboard.press('Control+V')
    await row(page, '/notes/deep/inner/beta copy.txt').waitFor()

    // Path and link.
    await choose(page, '/notes/alpha.txt', 'Copy path')
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
    await until(async () => (await clipboard()) === '/notes/alpha.txt', 'the path')
    await choose(page, '/notes/alpha.txt', 'Copy link')
    await until(async () => (await clipboard()).includes('/#/notes/alpha.txt'), 'the link')

    // The filter finds what is deep inside; the order by size.
    await page.getByRole('searchbox', { name: 'Filter files' }).fill('found')
    await row(page, '/notes/deep/found.txt').waitFor()
    await row(page, '/zebra.txt').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await row(page, '/zebra.txt').waitFor()
    await page.getByRole('button', { name: 'Actions for files' }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Sort by size' }).click()
    const above = async () => {
      const [big, small] = [row(page, '/notes/big.csv'), row(page, '/notes/alpha.txt')]
      return (await big.boundingBox()).y < (await small.boundingBox()).y
    }
    await until(above, 'the largest first')

    // Favorites stay, by their ids, and so does the width.
    await choose(page, '/notes/alpha.txt', 'Add to favorites')
    await page.getByRole('list', { name: 'Favorites' }).getByText('alpha.txt').waitFor()
    const edge = page.getByRole('separator', { name: 'Width of the sidebar' })
    const width = async () => (await page.locator('.sidebar').boundingBox()).width
    const narrow = await width()
    await edge.focus()
    for (let n = 0; n < 3; n++) await page.keyboard.press('ArrowRight')
    await until(async () => (await width()) === narrow + 48, 'a wider sidebar')
    await stage.yfs('mv', '/notes/alpha.txt', '/notes/renamed.txt')
    await page.reload()
    await page.getByRole('list', { name: 'Favorites' }).getByText('renamed.txt').click()
    await shows(page, 'text')
    assertEqual(await width(), narrow + 48, 'the width is kept')

    // Another window of the workspace takes what is dragged here.
    const dragged = JSON.stringify({ workspace: await workspaceOf(page), paths: ['/zebra.txt'] })
    const transfer = await page.evaluateHandle((data) => {
      const made = new DataTransfer()
      made.setData('application/x-yfs', data)
      return made
    }, dragged)
    await row(page, '/notes').dispatchEvent('drop', { dataTransfer: transfer })
    await row(page, '/notes/zebra.txt').waitFor()
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT })
  },
)
