// The history of a file: people and agents are different, each version shows its change and can be
// restored, and each line has an author.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const FIRST = '# Plan\n\nListen first.\n\nThen answer.\n'

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), FIRST)
  },
  async (stage) => {
    const page = await stage.open('/plan.md')
    await shows(page, 'richtext')
    const edit = (actor, from, to) =>
      stage.yfs('--actor', actor, 'edit', '/plan.md', '--old', from, '--new', to)
    await edit('human:ada', 'Listen first.', 'Ask every harbour twice.')
    await edit('agent:reviewer', 'Then answer.', 'Publish levels, gauges and limits.')
    await saved(page)

    await page.getByRole('button', { name: 'History' }).click()
    const entries = page.locator('.history-entry')
    await until(async () => (await entries.count()) >= 3, 'three versions')
    const of = (name) => entries.filter({ hasText: name })
    const kind = (name) => of(name).locator('.history-mark').getAttribute('data-kind')
    assertEqual(await kind('ada'), 'human', 'the kind of ada')
    assertEqual(await kind('reviewer'), 'agent', 'the kind of reviewer')
    if (!(await of('reviewer').textContent()).includes('agent')) throw new Error('no word agent')

    await of('reviewer').click()
    const words = (row) => page.locator(`.diff-${row} mark`).allTextContents()
    await until(async () => (await words('added')).join('').includes('Publish'), 'the change')
    assertEqual(await page.locator('.diff-added').count(), 1, 'added lines')
    await page.getByRole('button', { name: 'All versions' }).click()

    await page.getByRole('button', { name: 'Authors' }).click()
    await shows(page, 'blame')
    const authors = page.locator('.blame-author')
    await until(async () => {
      const names = (await authors.allTextContents()).filter((name) => name !== '')
      // A `+` marks a line that has letters of others, too.
      const has = (author) => names.some((name) => name.replace(/\+$/, '') === author)
      return has('ada') && has('✦ reviewer')
    }, 'the authors of lines')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await shows(page, 'richtext')

    await of('ada').click()
    await page.getByRole('button', { name: 'Restore', exact: true }).click()
    const restored = FIRST.replace('Listen first.', 'Ask every harbour twice.')
    await until(async () => (await stage.yfs('cat', '/plan.md')) === restored, 'the old text')
    await until(
      async () => (await page.textContent('.ProseMirror')).includes('Then answer.'),
      'the old text in the editor',
    )
  },
)
