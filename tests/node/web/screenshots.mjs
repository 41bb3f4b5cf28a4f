// Screenshots of the application on the handbook of the fixtures: light, dark and narrow. The
// argument is the directory that they are written to, and the one of the fixtures.

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
    for (const [name, colorScheme, width, height] of VIEWS) {
      const viewport = { width, height }
      const context = await stage.browser.newContext({ colorScheme, viewport })
      const page = await context.newPage()
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      await page.locator('[role="treeitem"][title="/runbooks"]').click()
      await page.locator('[role="treeitem"][title="/runbooks/on-call.md"]').click()
      await shows(page, 'richtext')
      await saved(page)
      await page.evaluate(() => document.fonts.ready)
      await page.screenshot({ path: join(images, `web-${name}.png`) })
      await context.close()
    }
  },
)
