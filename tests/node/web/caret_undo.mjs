// What two people typed before a rename between `.md` and `.txt` is undone and redone after it:
// each undoes their own words.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const NOTES = '# Notes\n\n*First* line\n\nSecond line\n'
const TYPED = '# Notes\n\n*First* line by Ana\n\nSecond by Ben line\n'

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'notes.md'), NOTES)
  },
  async (stage) => {
    const ana = await stage.open('/notes.md', { name: 'Ana' })
    const ben = await stage.open('/notes.md', { name: 'Ben', color: '#b4642d' })
    for (const page of [ana, ben]) await shows(page, 'richtext')
    await ana.locator('.ProseMirror p', { hasText: 'First' }).click()
    await ana.keyboard.press('End')
    await ana.keyboard.insertText(' by Ana')
    await ben.locator('.ProseMirror p', { hasText: 'Second' }).click()
    await ben.keyboard.press('Home')
    for (let n = 0; n < 'Second'.length; n++) await ben.keyboard.press('ArrowRight')
    await ben.keyboard.insertText(' by Ben')
    for (const page of [ana, ben]) await saved(page)
    assertEqual(await stage.yfs('cat', '/notes.md'), TYPED, 'what both typed')

    for (const [from, to] of [
      ['md', 'txt'],
      ['txt', 'md'],
    ]) {
      await stage.yfs('mv', `/notes.${from}`, `/notes.${to}`)
      for (const page of [ana, ben]) await shows(page, to === 'md' ? 'richtext' : 'text')
      const isFile = async (text) => (await stage.yfs('cat', `/notes.${to}`)) === text
      await ana.keyboard.press('Control+z')
      await until(() => isFile(TYPED.replace(' by Ana', '')), 'the undo of Ana')
      await ben.keyboard.press('Control+z')
      await until(() => isFile(NOTES), 'the undo of Ben')
      for (const page of [ana, ben]) await page.keyboard.press('Control+y')
      await until(() => isFile(TYPED), 'the redo of both')
    }
  },
)
