// Screenshots of the application on the handbook of the fixtures: light, with a second person and
// the activity of an agent; dark, with the history; and narrow. Arguments: the directory that they
// are written to, and the one of the fixtures.

import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { saved, scenario, shows } from './one_file.mjs'

const [images, fixtures] = process.argv.slice(2)
const VIEWS = [
  ['light', 'light', 1280, 800],
  ['dark', 'dark', 1280, 800],
  ['narrow', 'light', 420, 800],
]

await scenario(
  ({ directory }) => cpSync(join(fixtures, 'handbook'), directory, { recursive: true }),
  async (stage) => {
    mkdirSync(images, { recursive: true })
    const file = '/runbooks/on-call.md'
    const ben = await stage.open(file, { name: 'Ben', color: '#b4642d' })
    await shows(ben, 'richtext')
    await ben.locator('.ProseMirror p').nth(1).click()
    await ben.keyboard.press('End')
    const agent = ['--actor', 'agent:reviewer']
    await stage.yfs('write', '/runbooks/review.md', '--content', '# Review\n', ...agent)
    await stage.yfs('append', '/runbooks/review.md', '--content', '\nNo findings.\n', ...agent)
    for (const [name, colorScheme, width, height] of VIEWS) {
      const viewport = { width, height }
      const context = await stage.browser.newContext({ colorScheme, viewport })
      const page = await context.newPage()
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      await page.locator('[role="treeitem"][title="/runbooks"]').click()
      await page.locator('[role="treeitem"][title="/runbooks/on-call.md"]').click()
      await shows(page, 'richtext')
      await saved(page)
      if (name === 'light') {
        await page.getByRole('button', { name: 'Activity' }).click()
        await page.locator('.activity li', { hasText: 'reviewer' }).first().waitFor()
        await page.locator('.remote-cursor').waitFor()
      }
      if (name === 'dark') await page.getByRole('button', { name: 'History' }).click()
      await page.evaluate(() => document.fonts.ready)
      await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished)))
      await page.screenshot({ path: join(images, `web-${name}.png`) })
      await context.close()
    }
  },
)
