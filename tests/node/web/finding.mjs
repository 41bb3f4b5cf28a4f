// Where one is and how to get there: the path and the name in the head, titles, addresses that
// survive renames, Back and Forward, files that are missing, the start page, and the phone.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addressOf,
  allowClipboard,
  assertEqual,
  follow,
  isFirefox,
  saved,
  scenario,
  shows,
  tap,
  until,
} from './one_file.mjs'

const FINGER = 44
const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)
const path = async (page) => decodeURIComponent((await addressOf(page)).hash.slice(1).split('?')[0])
const titled = (page, title) =>
  until(async () => (await page.title()) === title, `the title ${title}`)

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes/deep'), { recursive: true })
    writeFileSync(
      join(directory, 'README.md'),
      '# Read me\n\nSee [the plan](notes/deep/plan.md).\n',
    )
    writeFileSync(join(directory, 'notes/deep/plan.md'), '# Plan\n\nListen.\n')
    writeFileSync(join(directory, 'notes/why?#.txt'), 'odd\n')
    writeFileSync(join(directory, 'log.txt'), 'Monday\n')
  },
  async (stage) => {
    const { url, token } = stage.server
    const enter = async (options) => {
      const context = await stage.browser.newContext(options)
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => stage.errors.push(stack))
      await page.goto(`${url}/#token=${token}`)
      await page.waitForSelector('.document-head')
      return page
    }
    const ana = await enter({ viewport: { width: 1200, height: 800 } })
    await allowClipboard(ana.context())

    // Without an address the workspace begins with its README; the head and the title say so.
    await shows(ana, 'richtext')
    await titled(ana, 'README.md – yfs')
    const crumbs = ana.getByRole('navigation', { name: 'Path' })
    await crumbs.getByRole('button', { name: 'README.md' }).waitFor()

    // A link to another file is a step of the history.
    await ana.locator('.ProseMirror a').click({ modifiers: ['Control'] })
    await titled(ana, 'plan.md – yfs')
    assertEqual(await path(ana), '/notes/deep/plan.md', 'the address')
    assertEqual(await crumbs.getByRole('button').count(), 4, 'start, two directories, the name')
    await ana.goBack()
    await titled(ana, 'README.md – yfs')
    await ana.goForward()
    await titled(ana, 'plan.md – yfs')

    // The name is edited in place; the address follows, and the old link still leads here.
    await ana.getByRole('button', { name: 'More' }).click()
    await ana.getByRole('menuitem', { name: 'Copy link' }).click()
    const link = await ana.evaluate(() => navigator.clipboard.readText())
    await crumbs.getByRole('button', { name: 'plan.md' }).click()
    const field = ana.getByRole('textbox', { name: 'Name of this file' })
    await field.fill('log.txt/..')
    await field.press('Enter')
    await ana.getByRole('alert').waitFor()
    await field.fill('idea.md')
    await field.press('Enter')
    await titled(ana, 'idea.md – yfs')
    await until(
      async () => (await path(ana)) === '/notes/deep/idea.md',
      'the address after the rename',
    )
    await ana.goBack()
    await titled(ana, 'README.md – yfs')
    await follow(ana, link)
    await titled(ana, 'idea.md – yfs')
    assertEqual(await path(ana), '/notes/deep/idea.md', 'the address that the old link became')

    // An odd name, typed as an address and reloaded.
    await row(ana, '/notes/why?#.txt').click()
    await titled(ana, 'why?#.txt – yfs')
    await ana.reload()
    await titled(ana, 'why?#.txt – yfs')
    await shows(ana, 'text')

    // A file that is missing says so, and comes back from the trash.
    const logLink = await ana.evaluate(() => location.href)
    await stage.yfs('rm', '/notes/why?#.txt')
    await follow(ana, `${url}/#/log.txt`)
    await titled(ana, 'log.txt – yfs')
    await row(ana, '/notes/why?#.txt').waitFor({ state: 'detached' })
    await follow(ana, logLink)
    await ana.getByRole('heading', { name: 'There is no file why?#.txt here' }).waitFor()
    await ana.getByRole('button', { name: 'Restore' }).click()
    await titled(ana, 'why?#.txt – yfs')
    await follow(ana, `${url}/#/notes/ide.md`)
    await ana.getByRole('button', { name: '/notes/deep/idea.md' }).click()
    await titled(ana, 'idea.md – yfs')

    // A link to a heading leads to it; a key that the editor has used opens nothing.
    await follow(ana, `${url}/#/notes/deep/idea.md?heading=plan`)
    await titled(ana, 'idea.md – yfs')
    const { hash } = await addressOf(ana)
    assertEqual(hash.endsWith('&heading=plan'), true, `the address of the heading: ${hash}`)
    await ana.waitForFunction(() => getSelection().anchorNode?.textContent === 'Plan')
    await row(ana, '/notes/why?#.txt').click()
    await shows(ana, 'text')
    await ana.locator('.cm-content').click()
    await ana.keyboard.press('Control+f')
    await ana.getByRole('search').waitFor()
    await ana.keyboard.press('Escape')
    assertEqual(await ana.locator('dialog').count(), 0, 'no dialog above the editor')
    await row(ana, '/notes/deep/idea.md').click()

    // The address of a folder shows it in the tree.
    await follow(ana, `${url}/#/notes/deep`)
    await titled(ana, 'yfs')
    await row(ana, '/notes/deep').and(ana.locator('.is-focused')).waitFor()

    // The start page lists what was opened and changed, and who is here.
    const ben = await enter({ viewport: { width: 1200, height: 800 } })
    await ana.getByRole('button', { name: 'Start', exact: true }).first().click()
    await titled(ana, 'yfs')
    await ana.getByRole('heading', { name: 'Here now' }).waitFor()
    await ana.locator('.home-people').getByRole('button', { name: 'README.md' }).waitFor()
    await stage.yfs('append', '/log.txt', '--content', 'Tuesday\n', '--actor', 'agent:scout')
    await ana.locator('.home-row', { hasText: 'scout' }).waitFor()
    await ana.locator('.home-row', { hasText: 'why?#.txt' }).first().waitFor()
    await ana.keyboard.press('Control+P')
    await ana.getByRole('option', { name: '/notes/deep/idea.md' }).click()
    await titled(ana, 'idea.md – yfs')

    // Keys and settings; a setting is kept.
    await ana.keyboard.press('Control+/')
    await ana.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await ana.keyboard.press('Escape')
    await ana.getByRole('button', { name: 'Settings' }).click()
    const settings = ana.getByRole('dialog', { name: 'Settings' })
    await settings.getByRole('button', { name: 'Dark' }).click()
    await settings.getByRole('button', { name: 'Compact' }).click()
    await settings.getByRole('combobox').selectOption('de')
    await ana.waitForFunction(() => document.documentElement.lang === 'de')
    await shows(ana, 'richtext')
    await ana.getByRole('button', { name: 'Einstellungen' }).waitFor()
    const look = await ana.evaluate(() => {
      const { style, dataset } = document.documentElement
      return [style.colorScheme, dataset.density]
    })
    assertEqual(look, ['dark', 'compact'], 'the look after a reload')

    // On a phone the files are in a drawer, and a finger finds each button.
    const viewport = { width: 390, height: 800 }
    const phone = await enter({ viewport, hasTouch: true, isMobile: true })
    await shows(phone, 'richtext')
    await saved(phone)
    const isWide = () => document.documentElement.scrollWidth > innerWidth
    assertEqual(await phone.evaluate(isWide), false, 'a page wider than the phone')
    await tap(phone.getByRole('button', { name: 'Files and places' }))
    const targets = phone.locator('.sidebar button:visible, .document-head > button:visible')
    await targets.first().waitFor()
    for (const target of await targets.all()) {
      const { height } = await target.boundingBox()
      const isTouched = isFirefox || height >= FINGER
      assertEqual(isTouched, true, `${await target.innerText()}: ${height} px`)
    }
    await tap(row(phone, '/log.txt'))
    await titled(phone, 'log.txt – yfs')
    await until(async () => !(await phone.locator('.sidebar').isVisible()), 'the drawer to close')
    await tap(phone.getByRole('button', { name: 'More' }))
    await tap(phone.getByRole('menuitemcheckbox', { name: 'Authors' }))
    await shows(phone, 'blame')
    await ben.close()
  },
)
