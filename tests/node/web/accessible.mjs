// axe finds no serious violation in any state of the application, light, dark, and on a phone, and
// in some states with high contrast and from the right to the left. A page from the right has its
// sidebar there and fits into the window; a compact one has lower rows.
// Argument: the directory of the fixtures.

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assertEqual, scenario, until } from './one_file.mjs'
import { enterStates, prepareStates, showState, STATES, watchConnection } from './states.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const STYLES = fileURLToPath(new URL('../../../crates/doors/yfs-web/app/src', import.meta.url))
/** What has another meaning in a page from the right. */
const PHYSICAL = /(?:(?:margin|padding|border)-|^\s*|align: |float: )(?:left|right)\b[^;]*;/gm
const WIDE = { viewport: { width: 1200, height: 800 } }
const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true }
/** The states that are checked with high contrast. */
const CONTRAST = ['start-page', 'document', 'settings']
const FROM_THE_RIGHT = ['start-page', 'document-with-others', 'code', 'history', 'search', 'tree']
const FROM_THE_RIGHT_ON_PHONE = ['document', 'find', 'share', 'tree']
const [fixtures] = process.argv.slice(2)

/**
 * Tells faults of a rule from what only looks like one: the caret goes into the code of a document
 * and scrolls it, and the name at the caret of another person fades.
 */
const isFault = (rule) => {
  const fine = { 'scrollable-region-focusable': /^<pre\b/, 'color-contrast': /caret-label/ }[rule]
  return ({ html }) => fine === undefined || !fine.test(html)
}

/** Returns the serious violations in the page, a line for each rule. */
async function seriousOf(page, rules = null) {
  const { violations } = await page.evaluate((rules) => {
    const only = rules === null ? {} : { runOnly: { type: 'rule', values: rules } }
    // What is right is not described.
    return window.axe.run({ resultTypes: ['violations'], selectors: false, ...only })
  }, rules)
  const serious = violations
    .map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.filter(isFault(id)) }))
    .filter(({ impact, nodes }) => /serious|critical/.test(impact ?? '') && nodes.length > 0)
  return serious.map(({ id, nodes }) => {
    const html = nodes.map((node) => node.html).join(' ')
    return `${id}: ${html.slice(0, 400)}`
  })
}

/** What a state looks like when the system asks for more contrast and less motion. */
async function checkContrast(page) {
  await page.emulateMedia({ contrast: 'more', forcedColors: 'none' })
  const found = await seriousOf(page, ['color-contrast'])
  const { text, duration, nMoving } = await page.evaluate(() => {
    const style = getComputedStyle(document.body)
    return {
      text: style.color,
      duration: parseFloat(style.getPropertyValue('--duration')),
      nMoving: document.getAnimations().length,
    }
  })
  assertEqual([text, duration, nMoving], ['rgb(0, 0, 0)', 0, 0], 'contrast and motion')
  await page.emulateMedia({ contrast: 'more', forcedColors: 'active' })
  const outlines = await page.evaluate(() => {
    const on = document.querySelectorAll('[aria-pressed="true"]')
    return [...on].map((element) => getComputedStyle(element).outlineStyle)
  })
  assertEqual([...new Set(outlines)], ['solid'], 'the outlines of what is on')
  await page.emulateMedia({ contrast: null, forcedColors: null })
  return found
}

/** On paper there is the file alone. */
async function checkPaper(page) {
  await page.emulateMedia({ media: 'print' })
  const around = ['.sidebar', '.document-head', '.page-bar', '.remote-cursor', '.front-matter-add']
  const shown = await page.evaluate((around) => {
    const isShown = (element) => element.getClientRects().length > 0
    return around.filter((selector) => [...document.querySelectorAll(selector)].some(isShown))
  }, around)
  assertEqual(shown, [], 'what is on paper beside the file')
  await page.emulateMedia({ media: null })
}

/** Rows are lower as soon as a person chooses that. */
async function checkDensity(page) {
  const dialog = page.getByRole('dialog', { name: 'Settings' })
  const heights = () =>
    page.evaluate(() => {
      const heightOf = (selector) => document.querySelector(selector).offsetHeight
      const second = document.querySelectorAll('.tree-row')[1].offsetTop
      return [heightOf('.tree-row'), second, heightOf('.home-row'), heightOf('.document-head')]
    })
  const settle = async (name, expected) => {
    await dialog.getByRole('button', { name }).click()
    await until(async () => String(await heights()) === String(expected), `${name}: ${expected}`)
  }
  await settle('Compact', [22, 22, 26, 36])
  await settle('Comfortable', [26, 26, 30, 44])
}

/** A page from the right fits into its window, and has its sidebar there. */
async function checkDirection(page, name) {
  const { direction, overflow, width, sidebar, content } = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const { left, right } = document.querySelector('.sidebar').getBoundingClientRect()
    return {
      direction: document.documentElement.dir,
      overflow: scrollWidth - clientWidth,
      width: clientWidth,
      sidebar: [left, right],
      content: document.querySelector('.content').getBoundingClientRect().right,
    }
  })
  assertEqual([direction, overflow], ['rtl', 0], `${name} from the right`)
  const isDrawer = page.viewportSize().width < 700
  if (!isDrawer || name === 'tree') assertEqual(sidebar[1], width, `${name}: the sidebar`)
  if (!isDrawer) assertEqual(content <= sidebar[0], true, `${name}: the content`)
}

/** Arrows go where the tree opens. */
async function checkTreeKeys(page) {
  const row = page.locator('[role="treeitem"][title="/engineering"]')
  const isExpanded = (expected) =>
    until(
      async () => (await row.getAttribute('aria-expanded')) === expected,
      `aria-expanded=${expected}`,
    )
  await page.locator('.tree').focus()
  await page.keyboard.press('ArrowRight')
  await isExpanded('false')
  await page.keyboard.press('ArrowLeft')
  await isExpanded('true')
}

/** Checks all states of a wide page or a phone; returns what is wrong. */
async function checkStates(stage, options) {
  // Colors that change slowly would be measured on their way.
  const more = { bypassCSP: true, reducedMotion: 'reduce' }
  const context = await stage.browser.newContext({ ...options, ...more })
  await context.addInitScript(AXE)
  const page = await context.newPage()
  const isPhone = options === PHONE
  const found = []
  const note = (state, lines) => found.push(...lines.map((line) => `${state}: ${line}`))
  await watchConnection(page)
  await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
  await page.waitForSelector('.document-head')
  for (const name of Object.keys(STATES)) {
    await showState(stage, page, name)
    note(`${name}, ${isPhone ? 'phone' : 'light'}`, await seriousOf(page))
    if (isPhone) continue
    // The same page has other colors, and nothing else.
    await page.emulateMedia({ colorScheme: 'dark' })
    note(`${name}, dark`, await seriousOf(page, ['color-contrast']))
    await page.emulateMedia({ colorScheme: 'light' })
    if (CONTRAST.includes(name)) note(`${name}, contrast`, await checkContrast(page))
    if (name === 'settings') await checkDensity(page)
    if (name === 'document-with-others') await checkPaper(page)
  }
  await page.evaluate(() => localStorage.setItem('yfs:layout-direction', 'rtl'))
  for (const name of isPhone ? FROM_THE_RIGHT_ON_PHONE : FROM_THE_RIGHT) {
    await showState(stage, page, name)
    await checkDirection(page, name)
    note(`${name}, from the right`, await seriousOf(page))
    if (name === 'tree') await checkTreeKeys(page)
  }
  await context.close()
  return found
}

/** Style sheets say `start` and `end`. */
function checkStyles() {
  for (const entry of readdirSync(STYLES, { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith('.css')) continue
    const style = readFileSync(join(entry.parentPath, entry.name), 'utf8')
    assertEqual(style.match(PHYSICAL) ?? [], [], `left and right in ${entry.name}`)
  }
}

await scenario(
  (stage) => prepareStates(stage, fixtures),
  async (stage) => {
    checkStyles()
    await enterStates(stage)
    // Both at once: each waits for its pages most of the time.
    const found = await Promise.all([checkStates(stage, WIDE), checkStates(stage, PHONE)])
    if (found.flat().length > 0) throw new Error(found.flat().join('\n'))
  },
)
