// Two people open one link that is for no particular one: each chooses a name, which is the author
// of what they write. Colors differ, a person can be followed, and a server that comes back shows
// each person once.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, textOf, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

/** Types a paragraph at the end of the open document. */
async function write(page, text) {
  await page.click('.cm-content')
  await page.keyboard.press('Control+End')
  await page.keyboard.type(text)
  await saved(page)
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'team'))
    const lines = Array.from({ length: 300 }, (_, n) => `line ${n}`)
    writeFileSync(join(directory, 'team/list.txt'), `${lines.join('\n')}\n`)
    writeFileSync(join(directory, 'team/other.txt'), 'other\n')
  },
  async (stage) => {
    const token = (await stage.yfs('--quiet', 'token', 'new', '--for', 'human:guest')).trim()
    const link = `${stage.server.url}/#token=${token}`
    const enter = async (name, address = link) => {
      const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => stage.errors.push(stack))
      await page.goto(address)
      if (name === null) return page
      await page.getByRole('textbox', { name: 'Your name' }).fill(name)
      await page.keyboard.press('Enter')
      return page
    }
    const zoe = await enter('Zoë Müller')
    await row(zoe, '/team').click()
    const max = await enter('zoë müller')
    // The name of another is refused.
    await max.getByRole('alert').waitFor()
    await max.getByRole('textbox', { name: 'Your name' }).fill('Max')
    await max.keyboard.press('Enter')
    await row(max, '/team').click()
    for (const page of [zoe, max]) {
      await row(page, '/team/list.txt').click()
      await shows(page, 'text')
    }
    await write(zoe, 'by Zoë\n')
    await until(async () => (await textOf(max)).includes('line 0'), 'the file of Max')
    await write(max, 'by Max\n')
    const lines = await until(async () => {
      const blame = await (await stage.fetch('/api/blame/team/list.txt')).json()
      const written = blame.lines.filter(({ text }) => text.startsWith('by '))
      return written.length === 2 && written
    }, 'both lines')
    assertEqual(
      lines.map(({ actor }) => actor),
      ['human:Zoë Müller', 'human:Max'],
      'the authors',
    )

    // The same browser is not asked again; another tab of it is one person.
    const again = await zoe.context().newPage()
    await again.goto(link)
    await row(again, '/team').waitFor()
    const shown = await again.locator('.people .me').getAttribute('title')
    assertEqual(shown, 'Zoë Müller', 'her name')
    const avatars = (page) =>
      page
        .locator('.people .avatar-button:not(.me)')
        .evaluateAll((all) =>
          all.map((button) => [button.getAttribute('aria-label'), button.style.color]),
        )
    await until(async () => (await avatars(max)).length === 1, 'Zoë once')
    await again.close()

    // Twelve people have twelve colors.
    const own = (page) => page.locator('.people .me .avatar').evaluate((a) => a.style.background)
    const colors = await Promise.all([own(zoe), own(max)])
    assertEqual(new Set(colors).size, 2, `the colors ${colors}`)

    // Max follows Zoë: into her file, and to her caret.
    await max.locator('.people [aria-label^="Follow Zoë"]').click()
    await max.getByText('Following Zoë Müller – Esc').waitFor()
    await row(zoe, '/team/other.txt').click()
    await until(async () => (await textOf(max)).includes('other'), 'her file')
    await row(zoe, '/team/list.txt').click()
    await shows(zoe, 'text')
    await zoe.click('.cm-content')
    await zoe.keyboard.press('Control+Home')
    await max.locator('.cm-line', { hasText: 'line 0' }).first().waitFor()
    await zoe.keyboard.press('Control+End')
    // Until then her caret is at the start, and in view too.
    await max.locator('.cm-line', { hasText: 'by Max' }).waitFor()
    await until(
      () =>
        max.locator('.cm-ySelectionCaret').evaluate((caret) => {
          const { top, bottom } = caret.getBoundingClientRect()
          return top >= 0 && bottom <= innerHeight
        }),
      'her caret in view',
    )
    await max.keyboard.press('Escape')
    await max.getByText('Following Zoë').waitFor({ state: 'detached' })

    // The name is above the line, and goes by itself: how fast is a matter of the style sheet.
    const label = max.locator('.cm-ySelectionInfo').first()
    await until(
      async () =>
        (await label.evaluate((l) => getComputedStyle(l).animationName)) === 'caret-label-away',
      'the label that goes',
    )

    // A server that comes back shows each once.
    const start = await stage.stopServer()
    await max.locator('.banner').waitFor()
    await start()
    await max.locator('.banner').waitFor({ state: 'detached' })
    await until(async () => {
      const seen = (await avatars(max)).map(([label]) => label)
      return seen.length === 1 && seen[0].startsWith('Follow Zoë Müller')
    }, 'Zoë once, after the server was back')

    // Who saw the file last is known after she left, and after a reload.
    const seen = async () => (await max.locator('.people .me').getAttribute('title')) ?? ''
    const isSeen = async () => (await seen()).includes('Last seen by Zoë Müller: ')
    assertEqual(await isSeen(), false, 'that she saw it, while she is there')
    await zoe.close()
    await until(isSeen, 'that she saw it')
    await max.reload()
    await shows(max, 'text')
    await until(isSeen, 'that she saw it, after a reload')

    // What is saved on the disk has the name of the person who runs the server.
    writeFileSync(join(stage.directory, 'team/other.txt'), 'from the disk\n')
    const [user] = (await stage.yfs('token', 'owner', '--json')).match(/human:[^"]+/)
    const saving = await until(async () => {
      const log = await (await stage.fetch('/api/log?path=/team/other.txt&limit=5')).json()
      return log.entries.find(({ actor }) => actor?.startsWith('mirror:'))
    }, 'the save')
    assertEqual(
      saving.actor.replace(/-[0-9a-f]{8}$/, ''),
      user.replace('human', 'mirror'),
      'saved by',
    )
  },
)
