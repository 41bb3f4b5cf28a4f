// Undo takes back what was typed in headings and numbered lists, and a space before Enter does not
// stay in the file: `node writing.mjs PROFILE`.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, filesOf, saved, scenario } from './one_file.mjs'

const [profile] = process.argv.slice(2)
const N_UNDO = 12
const FILES = {
  'head.md': '# Head\n\nText.\n',
  'join.md': '# Head\n\nText.\n',
  'list.md': '1. one\n2. two\n3. three\n',
  'new.md': '',
  'space.md': 'Start\n\nA second one.\n',
  'kept.md': 'Start &#32;\n\nNext.\n',
}

await scenario(
  async (stage) => {
    for (const [name, text] of Object.entries(FILES)) {
      writeFileSync(join(stage.directory, name), text)
    }
    await stage.yfs('init', '--profile', profile)
  },
  async (stage) => {
    const page = await stage.open(null)
    const keys = page.keyboard
    const { open, stored } = filesOf(stage, page)
    const undoes = async (path) => {
      await saved(page)
      for (let n = 0; n < N_UNDO; n++) await keys.press('Control+z')
      assertEqual(await stored(path), FILES[path.slice(1)], `${path} undone`)
    }

    await open('/head.md')
    await page.click('.ProseMirror h1')
    await keys.press('End')
    await keys.type(' more')
    assertEqual(await stored('/head.md'), '# Head more\n\nText.\n', 'the typed heading')
    await undoes('/head.md')

    await open('/join.md')
    await page.click('.ProseMirror p')
    await keys.press('Home')
    await keys.press('Backspace')
    assertEqual(await stored('/join.md'), '# HeadText.\n', 'the joined heading')
    await undoes('/join.md')

    await open('/list.md')
    await page.click('.ProseMirror li p')
    await keys.press('End')
    await keys.press('Enter')
    await keys.type('more')
    const longer = await stored('/list.md')
    if (!longer.includes('more')) throw new Error(`the list is ${longer}`)
    await undoes('/list.md')

    await open('/new.md')
    await page.click('.ProseMirror')
    await keys.type('# A title')
    assertEqual((await stored('/new.md')).trim(), '# A title', 'the title')
    for (let n = 0; n < N_UNDO; n++) await keys.press('Control+z')
    const without = (await stored('/new.md')).replace('#', '').trim()
    assertEqual(without, '', 'the title undone')

    // A space at the end goes when the caret leaves the block: by Enter, a key or a click.
    await open('/space.md')
    await page.click('.ProseMirror p')
    await keys.press('End')
    await keys.type(' word ')
    await keys.press('Enter')
    await keys.type('next  ')
    await keys.press('ArrowDown')
    await page.locator('.ProseMirror p', { hasText: 'second' }).click()
    await keys.press('End')
    await keys.type(' and ')
    await page.locator('.ProseMirror p', { hasText: 'Start' }).click()
    const trimmed = 'Start word\n\nnext\n\nA second one. and\n'
    assertEqual(await stored('/space.md'), trimmed, 'the file without spaces')

    // Moving through a file writes nothing.
    await open('/kept.md')
    await page.click('.ProseMirror p')
    await page.locator('.ProseMirror p', { hasText: 'Next' }).click()
    await keys.press('Control+Home')
    assertEqual(await stored('/kept.md'), FILES['kept.md'], 'the file that was only read')
  },
)
