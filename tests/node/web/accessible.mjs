// axe finds no serious violation in any state of the application, light, dark, and on a phone.
// Argument: the directory of the fixtures.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { scenario } from './one_file.mjs'
import { enterStates, prepareStates, showState, STATES } from './states.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const LOOKS = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 800 }, hasTouch: true },
}
const [fixtures] = process.argv.slice(2)

/** Returns the serious violations in the page, a line for each rule. */
async function seriousOf(page) {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(() => window.axe.run())
  const serious = violations.filter(({ impact }) => /serious|critical/.test(impact ?? ''))
  return serious.map(({ id, nodes }) => {
    const html = nodes.map((node) => node.html).join(' ')
    return `${id}: ${html.slice(0, 400)}`
  })
}

await scenario(
  (stage) => prepareStates(stage, fixtures),
  async (stage) => {
    await enterStates(stage)
    const found = []
    for (const [look, options] of Object.entries(LOOKS)) {
      const context = await stage.browser.newContext({ ...options, bypassCSP: true })
      const page = await context.newPage()
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      await page.waitForSelector('.document-head')
      for (const name of Object.keys(STATES)) {
        await showState(stage, page, name)
        for (const line of await seriousOf(page)) found.push(`${name}, ${look}: ${line}`)
      }
      await context.close()
    }
    if (found.length > 0) throw new Error(found.join('\n'))
  },
)
