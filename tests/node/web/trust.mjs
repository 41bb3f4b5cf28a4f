// What makes a shared workspace safe to work in: grouped activity, a trash with previews, conflicts
// that are settled in the page, and what others changed in the file that one reads.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { assertEqual, saved, scenario, shows, textOf, until } from './one_file.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const SECTIONS = Array.from({ length: 6 }, (_, n) => `## Section ${n}\n\nText ${n}.\n`)
const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

async function check(page, view) {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate(() => window.axe.run())
  const serious = violations.filter(({ impact }) => /serious|critical/.test(impact ?? ''))
  const lines = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  if (lines.length > 0) throw new Error(`${view}:\n${lines.join('\n').slice(0, 1500)}`)
}

const hasFocus = (locator) =>
  until(
    () => locator.evaluate((element) => element.contains(document.activeElement)),
    'the focus in the panel',
  )

/** Activity: one entry for what one author did in one go, filters, the changes, and its room. */
async function readActivity(stage, page) {
  for (const n of [1, 2, 3]) {
    const change = ['--old', `Text ${n}.`, '--new', `Text ${n} of ben.`]
    await stage.yfs('--actor', 'human:ben', 'edit', '/notes/plan.md', ...change)
  }
  await stage.yfs('--actor', 'agent:scout', 'append', '/log.txt', '--content', 'Tuesday\n')
  await stage.yfs('--actor', 'human:ben', 'mv', '/old-name.txt', '/new-name.txt')
  await page.getByRole('button', { name: 'Activity' }).click()
  const activity = page.getByRole('complementary', { name: 'Activity' })
  await hasFocus(activity)
  await activity.getByText('Today').waitFor()
  const entries = activity.locator('li')
  const edited = entries.filter({ hasText: 'plan.md' }).filter({ hasText: 'ben' })
  await edited.getByText('edited, 3 changes').waitFor()
  assertEqual(await edited.count(), 1, 'entries for what ben did')
  await entries.filter({ hasText: 'renamed from old-name.txt' }).waitFor()
  const { width } = await activity.boundingBox()
  assertEqual(width <= 320, true, `a width of ${width}`)
  await check(page, 'the activity')

  const filter = activity.getByRole('group', { name: 'Changes of' })
  await filter.getByRole('button', { name: 'Agents' }).click()
  await until(async () => (await entries.count()) === 1, 'the change of the agent alone')
  await filter.getByRole('button', { name: 'All' }).click()
  await activity.getByRole('combobox', { name: 'Changes in' }).selectOption('file')
  await until(
    async () => (await entries.allInnerTexts()).every((text) => text.includes('log.txt')),
    'the changes of the open file',
  )
  await activity.getByRole('combobox', { name: 'Changes in' }).selectOption('all')

  // A change that comes while it is open, the changes in a dialog, and the file at their place.
  await stage.yfs('--actor', 'agent:scout', 'write', '/made.txt', '--content', 'by an agent\n')
  await entries.filter({ hasText: 'made.txt' }).getByText('created').waitFor()
  await edited.getByRole('button', { name: 'Show changes' }).click()
  const changes = page.getByRole('dialog', { name: 'Changes of plan.md' })
  await until(async () => (await changes.locator('tr.diff-added').count()) === 3, 'all changes')
  await check(page, 'the changes')
  await changes.getByRole('button', { name: 'Open the file there' }).click()
  await shows(page, 'richtext')

  // The history takes its place, and the other way round.
  await page.getByRole('button', { name: 'History' }).click()
  const history = page.locator('.history')
  await history.waitFor()
  await activity.waitFor({ state: 'detached' })
  await hasFocus(history)
  await check(page, 'the history')
  await page.getByRole('button', { name: 'Activity' }).click()
  await activity.waitFor()
  await history.waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await activity.waitFor({ state: 'detached' })

  // On a narrow screen it lies above the document, whose room stays.
  await page.setViewportSize({ width: 900, height: 800 })
  await page.getByRole('button', { name: 'Activity' }).click()
  const drawer = page.getByRole('dialog', { name: 'Activity' })
  await drawer.locator('li').first().waitFor()
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 1200, height: 800 })
}

/** The trash: who and when, search, a preview without a restore, several at once, elsewhere. */
async function readTrash(stage, page) {
  for (const path of ['/gone/a.txt', '/gone/b.md', '/gone/c.png', '/gone/d.txt']) {
    await stage.yfs('--actor', 'human:zoe', 'rm', path)
  }
  await page.getByRole('button', { name: 'Trash' }).click()
  const trash = page.getByRole('dialog', { name: 'Trash' })
  await hasFocus(trash)
  const entries = trash.locator('.trash-list li')
  const entry = (name) => entries.filter({ hasText: name })
  await until(async () => (await entries.count()) === 4, 'what was removed')
  await entry('a.txt').getByText('zoe').waitFor()
  await entry('a.txt').getByText('now').waitFor()
  await trash.getByRole('searchbox').fill('B.MD')
  await until(async () => (await entries.count()) === 1, 'what was searched for')
  await entry('b.md')
    .getByRole('button', { name: /b\.md \/gone/ })
    .click()
  await trash.locator('.trash-document .is-heading', { hasText: 'Gone' }).waitFor()
  await check(page, 'the trash')
  await trash.getByRole('searchbox').fill('')
  await entry('c.png')
    .getByRole('button', { name: /c\.png \/gone/ })
    .click()
  await until(
    () => trash.locator('.trash-image').evaluate((image) => image.naturalWidth > 0),
    'the picture',
  )
  assertEqual((await stage.yfs('ls', '/gone')).trim(), '', 'nothing is restored by a look')

  await trash.getByRole('checkbox', { name: 'Choose /gone/a.txt' }).check()
  await trash.getByRole('checkbox', { name: 'Choose /gone/d.txt' }).check()
  await trash.getByRole('button', { name: 'Restore 2 items' }).click()
  await until(async () => (await entries.count()) === 2, 'the rest')
  await trash.getByRole('textbox', { name: 'Restore to' }).fill('/elsewhere.png')
  await trash.getByRole('button', { name: 'Restore', exact: true }).click()
  await row(page, '/elsewhere.png').waitFor()
  await trash.getByRole('button', { name: 'Restore /gone/b.md' }).click()
  await trash.getByText('The trash is empty').waitFor()
  await page.keyboard.press('Escape')
  await trash.waitFor({ state: 'detached' })
  assertEqual(await stage.yfs('cat', '/gone/b.md'), '# Gone\n\nNot yet.\n', 'the restored file')
}

/** Conflicts: equal names, words of two writers, and a removal beside a change. */
async function settleConflicts(stage, page) {
  const copy = join(stage.directory, '../', `${basename(stage.directory)}-copy`)
  await stage.yfs('clone', stage.server.url, copy, '--token', stage.server.token)
  const there = (actor, ...args) => stage.yfs('--actor', actor, ...args, '--workspace', copy)
  const here = (actor, ...args) => stage.yfs('--actor', actor, ...args)
  const edit = (path, old, text) => ['edit', path, '--old', old, '--new', text]
  for (const key of ['one', 'two', 'three']) {
    await here('human:ana', ...edit('/app.toml', `${key} = 30`, `${key} = 45`))
    await there('human:ben', ...edit('/app.toml', `${key} = 30`, `${key} = 60`))
  }
  await here('human:ana', 'write', '/twin.txt', '--content', 'mine\n')
  await there('human:ben', 'write', '/twin.txt', '--content', 'theirs\n')
  await here('human:ana', 'rm', '/removed.txt')
  await there('human:ben', 'append', '/removed.txt', '--content', 'still needed\n')
  await stage.yfs('sync', '--workspace', copy)
  rmSync(copy, { recursive: true })

  // The badge comes by itself.
  const badge = page.getByRole('button', { name: /^\d+ conflicts$/ })
  await badge.click()
  const panel = page.getByRole('dialog', { name: 'Conflicts' })
  await hasFocus(panel)
  const twins = panel.getByRole('article', { name: '/twin.txt' })
  await twins.getByText('mine').waitFor()
  await twins.getByText('theirs').waitFor()
  await twins.locator('.conflict-writers', { hasText: 'ben' }).waitFor()
  await check(page, 'the conflicts')
  await twins.getByRole('textbox').last().fill('other.txt')
  await twins.getByRole('button', { name: 'Rename' }).last().click()
  await twins.waitFor({ state: 'detached' })
  await row(page, '/other.txt').waitFor()

  // Each place has its words, their writers, and a click for either or both.
  const words = panel.getByRole('article', { name: '/app.toml' })
  const place = (text) => words.locator('.conflict-place', { hasText: text })
  for (const name of ['ana', 'ben']) {
    await place('one =').locator('.conflict-writers', { hasText: name }).waitFor()
  }
  const line = async (key) =>
    (await stage.yfs('cat', '/app.toml')).split('\n').find((each) => each.startsWith(key))
  await place('one =').getByRole('button', { name: 'Keep 60' }).click()
  await until(async () => (await line('one')) === 'one = 60', 'the word of ben')
  await place('one =').waitFor({ state: 'detached' })
  const both = await line('two')
  await place('two =').getByRole('button', { name: 'Keep both' }).click()
  await place('two =').waitFor({ state: 'detached' })
  assertEqual(await line('two'), both, 'both words')
  await place('three =').getByRole('button', { name: 'Keep 45' }).click()
  await words.waitFor({ state: 'detached' })
  assertEqual(await line('three'), 'three = 45', 'the word of ana')

  const removed = panel.getByRole('article', { name: '/removed.txt' })
  await removed.getByRole('button', { name: 'Restore it with the change' }).click()
  await panel.getByText('No conflicts').waitFor()
  assertEqual(await stage.yfs('cat', '/removed.txt'), 'base\nstill needed\n', 'the removed file')
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await until(async () => (await badge.count()) === 0, 'no badge')
  assertEqual(await stage.yfs('conflicts'), '', 'the conflicts that are left')
}

/** What others changed while one was away, and what an agent changes while one reads. */
async function watchReading(stage, page) {
  await row(page, '/notes/plan.md').click()
  await shows(page, 'richtext')
  await saved(page)
  const seen = () =>
    page.evaluate(() => {
      const key = Object.keys(localStorage).find((name) => name.startsWith('yfs:seen:'))
      return key === undefined ? '' : localStorage.getItem(key)
    })
  const plan = await page.evaluate(() => new URLSearchParams(location.hash.split('?')[1]).get('id'))
  await until(async () => (await seen()).includes(plan), 'the version that was seen')
  const edit = (actor, old, text) =>
    stage.yfs('--actor', actor, 'edit', '/notes/plan.md', '--old', old, '--new', text)
  const news = page.locator('.editor-notice.is-news')

  // The agent writes while it is read: the block is tinted, and a bar says so.
  await edit('agent:scout', 'Text 4.', 'Text 4, checked.')
  await until(
    () => page.evaluate(() => (CSS.highlights.get('yfs-fresh')?.size ?? 0) === 1),
    'the tinted block',
  )
  await news.getByText('scout (agent) changed 1 place since').waitFor()
  await news.getByRole('button', { name: 'Show' }).click()
  const changes = page.getByRole('dialog', { name: 'Changes of plan.md' })
  await changes.locator('mark', { hasText: 'checked' }).first().waitFor()
  await page.keyboard.press('Escape')
  await changes.waitFor({ state: 'detached' })
  assertEqual(await news.count(), 0, 'the bar after its button')

  // A person is news only to one who was away.
  const before = await seen()
  await edit('human:ben', 'Text 5.', 'Text 5, of ben.')
  await until(async () => (await textOf(page)).includes('Text 5, of ben.'), 'the edit of ben')
  await until(async () => (await seen()) !== before, 'the edit that was seen')
  assertEqual(await news.count(), 0, 'no bar for a person')
  await row(page, '/log.txt').click()
  await shows(page, 'text')
  await edit('human:ben', 'Text 0.', 'Text 0, of ben.')
  await row(page, '/notes/plan.md').click()
  await shows(page, 'richtext')
  await news.getByText('ben changed').waitFor()
  await check(page, 'the news')
  await news.getByRole('button', { name: 'Dismiss' }).click()
  await news.waitFor({ state: 'detached' })
}

await scenario(
  ({ directory }) => {
    for (const name of ['notes', 'gone']) mkdirSync(join(directory, name))
    const files = {
      'notes/plan.md': `# Plan\n\n${SECTIONS.join('\n')}`,
      'log.txt': 'Monday\n',
      'old-name.txt': 'name\n',
      'gone/a.txt': 'a\n',
      'gone/b.md': '# Gone\n\nNot yet.\n',
      'gone/d.txt': 'd\n',
      'app.toml': 'one = 30\nmiddle = true\ntwo = 30\nlast = true\nthree = 30\n',
      'removed.txt': 'base\n',
    }
    for (const [path, text] of Object.entries(files)) writeFileSync(join(directory, path), text)
    const icon = new URL(
      '../../../crates/doors/yfs-web/app/public/assets/icon-192.png',
      import.meta.url,
    )
    writeFileSync(join(directory, 'gone/c.png'), readFileSync(icon))
  },
  async (stage) => {
    const context = await stage.browser.newContext({
      viewport: { width: 1200, height: 800 },
      bypassCSP: true,
    })
    const page = await context.newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
    await row(page, '/log.txt').click()
    await shows(page, 'text')
    try {
      await readActivity(stage, page)
      await readTrash(stage, page)
      await settleConflicts(stage, page)
      await watchReading(stage, page)
    } catch (error) {
      if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE })
      throw error
    }
  },
)
