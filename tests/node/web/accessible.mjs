// axe finds no serious violation, in the light and the dark theme.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { scenario, shows } from './one_file.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes'))
    writeFileSync(
      join(directory, 'notes/plan.md'),
      '---\ntitle: Plan\n---\n# Plan\n\n- [ ] Listen.\n',
    )
    writeFileSync(join(directory, 'log.txt'), 'Monday\n')
  },
  async (stage) => {
    for (const colorScheme of ['light', 'dark']) {
      const context = await stage.browser.newContext({ colorScheme, bypassCSP: true })
      const page = await context.newPage()
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      await page.locator('[role="treeitem"][title="/notes"]').click()
      const check = async (view) => {
        await page.evaluate(AXE)
        const { violations } = await page.evaluate(() => window.axe.run())
        const serious = violations.filter(({ impact }) => /serious|critical/.test(impact ?? ''))
        const lines = serious.map(
          ({ id, nodes }) =>
            `${id}: ${nodes
              .map(({ html }) => html)
              .join(' ')
              .slice(0, 400)}`,
        )
        if (lines.length > 0) throw new Error(`${view}, ${colorScheme}:\n${lines.join('\n')}`)
      }
      await check('the tree')
      await page.locator('[role="treeitem"][title="/log.txt"]').click()
      await shows(page, 'text')
      await check('the text editor')
      await page.locator('[role="treeitem"][title="/notes/plan.md"]').click()
      await shows(page, 'richtext')
      await check('the markdown editor')
      await page.keyboard.press('Control+P')
      await page.waitForSelector('.quick-open')
      await check('quick open')
    }
  },
)
