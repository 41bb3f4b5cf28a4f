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

    await stage.yfs('label', '/plan.md', 'first draft')

    await page.getByRole('button', { name: 'History' }).click()
    const panel = page.locator('.history')
    const entries = page.locator('.history-entry')
    await until(async () => (await entries.count()) >= 3, 'three versions')
    const of = (name) => entries.filter({ hasText: name })
    const kind = (name) => of(name).locator('.author-mark').getAttribute('data-kind')
    assertEqual(await kind('ada'), 'human', 'the kind of ada')
    assertEqual(await kind('reviewer'), 'agent', 'the kind of reviewer')
    if (!(await of('reviewer').textContent()).includes('agent')) throw new Error('no word agent')
    await panel.getByText('Today').waitFor()
    await of('reviewer').getByText('+1').waitFor()
    await of('reviewer').getByText('−1').waitFor()
    const text = await panel.innerText()
    assertEqual(/\b(save|import) \w{8,}/.test(text), false, `no ids in ${text}`)

    // The filters: people, agents, the disk, named versions.
    const filter = panel.getByRole('group', { name: 'Changes of' })
    await filter.getByRole('button', { name: 'Agents' }).click()
    assertEqual(await of('ada').count(), 0, 'versions of ada among those of agents')
    assertEqual(await of('reviewer').count(), 1, 'versions of agents')
    await filter.getByRole('button', { name: 'All' }).click()
    await panel.getByRole('checkbox', { name: 'Named only' }).check()
    await until(async () => (await entries.count()) === 1, 'the named version')
    await entries.getByText('first draft').waitFor()
    await panel.getByRole('checkbox', { name: 'Named only' }).uncheck()

    // A version shows its change, in three forms; any two versions are compared.
    await of('reviewer').click()
    const dialog = page.getByRole('dialog', { name: 'Versions of plan.md' })
    const words = (row) => dialog.locator(`.diff-${row} mark`).allTextContents()
    await until(async () => (await words('added')).join('').includes('Publish'), 'the change')
    assertEqual(await dialog.locator('tr.diff-added').count(), 1, 'added lines')
    await dialog.getByRole('button', { name: 'Side by side' }).click()
    assertEqual(await dialog.locator('table.is-beside .diff-removed').count(), 2, 'the old side')
    await dialog.getByRole('button', { name: 'Blocks' }).click()
    await dialog.locator('.diff-block.diff-changed del', { hasText: 'Then' }).first().waitFor()
    await dialog.getByRole('button', { name: 'Lines' }).click()
    await dialog.getByRole('combobox', { name: 'From' }).selectOption('1')
    await until(async () => (await dialog.locator('tr.diff-added').count()) === 2, 'both changes')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assertEqual(await panel.isVisible(), true, 'the panel is still there')

    // Escape closes the panel, and the focus was in it.
    await panel.getByRole('button', { name: 'Close the history' }).focus()
    await page.keyboard.press('Escape')
    await panel.waitFor({ state: 'detached' })

    // The one who changed a line last is its author; a line of several is marked.
    await page.getByRole('button', { name: 'Authors' }).click()
    await shows(page, 'blame')
    const authors = page.locator('.blame-author')
    await until(async () => {
      const names = await authors.locator('b').allTextContents()
      return names.includes('ada') && names.includes('✦ reviewer')
    }, 'the authors of lines')
    await page.locator('.blame-mixed').first().waitFor()
    const titles = await authors.evaluateAll((marks) => marks.map(({ title }) => title))
    assertEqual(
      titles.some((title) => /ada: \d+ characters/.test(title)),
      true,
      `the shares in ${titles}`,
    )
    await page.locator('.cm-line', { hasText: 'Publish' }).click()
    await page.locator('.blame-status', { hasText: 'reviewer (agent) changed it last' }).waitFor()
    await page.getByRole('button', { name: 'By character' }).click()
    const tinted = page.locator('.blame-character[title="reviewer"]')
    await until(
      async () => (await tinted.allTextContents()).join('').includes('Publish'),
      'the characters of the agent',
    )
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await shows(page, 'richtext')

    // A restore says what of others it takes back, asks, and can be undone.
    await page.getByRole('button', { name: 'History' }).click()
    await until(async () => (await entries.count()) >= 3, 'three versions')
    await of('ada').click()
    const before = await stage.yfs('cat', '/plan.md')
    await dialog.getByRole('button', { name: 'Restore this version' }).click()
    await dialog.getByText('takes back changes of agent reviewer (1 line) since').waitFor()
    assertEqual(await stage.yfs('cat', '/plan.md'), before, 'the file before the answer')
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    const restored = FIRST.replace('Listen first.', 'Ask every harbour twice.')
    await until(async () => (await stage.yfs('cat', '/plan.md')) === restored, 'the old text')
    await dialog.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await stage.yfs('cat', '/plan.md')) === before, 'the text again')
    await dialog.getByRole('button', { name: 'Restore this version' }).click()
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await until(async () => (await stage.yfs('cat', '/plan.md')) === restored, 'the old text')
    await page.keyboard.press('Escape')
    await until(
      async () => (await page.textContent('.ProseMirror')).includes('Then answer.'),
      'the old text in the editor',
    )
  },
)
