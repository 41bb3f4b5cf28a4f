// A rename to and from `.md` swaps the editor in both browsers, and both go on typing. The file of
// one browser goes to the trash and back.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, textOf, until } from './one_file.mjs'

const EDITOR = '.ProseMirror, .cm-content'

async function typeAtEnd(page, text) {
  await page.click(EDITOR)
  await page.keyboard.press('Control+End')
  await page.keyboard.type(text, { delay: 5 })
}

/** Collects the notices of a page: each is shown for some seconds only. */
async function collectNotices(page) {
  await page.evaluate(() => {
    window.noticesSeen = []
    const collect = (records) => {
      for (const { addedNodes } of records) {
        for (const node of addedNodes) window.noticesSeen.push(node.textContent)
      }
    }
    const notices = document.querySelector('.editor-notices')
    new MutationObserver(collect).observe(notices, { childList: true })
  })
}

const noticesOf = (page) => page.evaluate(() => window.noticesSeen)

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen first.\n')
  },
  async (stage) => {
    const ana = await stage.open('/plan.md', { name: 'Ana' })
    const ben = await stage.open('/plan.md', { name: 'Ben', color: '#b4642d' })
    for (const page of [ana, ben]) await shows(page, 'richtext')
    await typeAtEnd(ana, ' Then answer.')
    await until(async () => (await textOf(ben)).includes('Then answer.'), 'what Ana typed')
    await until(() => ben.locator('.remote-cursor-name', { hasText: 'Ana' }).count(), 'her cursor')
    await saved(ana)
    await collectNotices(ana)

    await stage.yfs('mv', '/plan.md', '/plan.txt')
    for (const page of [ana, ben]) {
      await shows(page, 'text')
      await until(
        async () => (await textOf(page)).includes('# Plan'),
        'the markdown of the plan as text',
      )
    }
    const asText = 'The file was renamed: the editor shows it as plain text now.'
    assertEqual(await noticesOf(ana), [asText], 'the notices')
    await typeAtEnd(ben, 'As text.\n')
    await until(async () => (await textOf(ana)).includes('As text.'), 'what Ben typed')
    await until(() => ana.locator('.cm-ySelectionInfo', { hasText: 'Ben' }).count(), 'his cursor')
    await saved(ben)
    assertEqual(
      await stage.yfs('cat', '/plan.txt'),
      '# Plan\n\nListen first. Then answer.\nAs text.\n',
      'the text file',
    )

    await stage.yfs('mv', '/plan.txt', '/plan.md')
    for (const page of [ana, ben]) await shows(page, 'richtext')
    await until(async () => (await textOf(ana)).includes('As text.'), 'the text as rich text')
    await typeAtEnd(ana, ' And rich again.')
    await saved(ana)
    await until(async () => (await textOf(ben)).includes('And rich again.'), 'it at Ben')
    const source = await stage.yfs('cat', '/plan.md')
    if (!source.endsWith('And rich again.\n')) throw new Error(`the file is ${source}`)

    await stage.yfs('rm', '/plan.md')
    const trashed = ana.locator('.editor-notice.is-trashed')
    await until(() => trashed.count(), 'the notice of the trash')
    assertEqual(await ana.getAttribute('.ProseMirror', 'contenteditable'), 'false', 'editable')
    await trashed.getByRole('button', { name: 'Restore' }).click()
    await until(async () => (await trashed.count()) === 0, 'the end of the notice')
    await until(
      async () => (await ana.getAttribute('.ProseMirror', 'contenteditable')) === 'true',
      'an editable document',
    )
    assertEqual(await stage.yfs('cat', '/plan.md'), source, 'the restored file')
  },
)
