// Rows and columns of tables of markdown are added, moved, aligned, removed and filled.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, filesOf, paste, saved, scenario, until } from './one_file.mjs'

const TABLE = '| A | B |\n| - | - |\n| 1 | 2 |\n| 3 | 4 |\n'
const WIDE = ['Head', 'Rule', 'Cell']
  .map((kind) => (kind === 'Rule' ? '---' : `${kind}ofalongword`))
  .map((cell) => `|${` ${cell} |`.repeat(16)}\n`)
  .join('')

await scenario(
  async (stage) => {
    writeFileSync(join(stage.directory, 'table.md'), TABLE)
    writeFileSync(join(stage.directory, 'filled.md'), TABLE)
    writeFileSync(join(stage.directory, 'wide.md'), WIDE)
    writeFileSync(join(stage.directory, 'new.md'), '')
    await stage.yfs('init', '--profile', 'gfm')
  },
  async (stage) => {
    const page = await stage.open(null)
    const keys = page.keyboard
    const { open } = filesOf(stage, page)
    /** Returns the cells of a table that is stored, without the spaces that fill its columns. */
    const cells = async (path) => {
      await saved(page)
      const lines = (await stage.yfs('cat', path)).trim().split('\n')
      return lines.map((line) => line.replace(/ *\| */g, '|').replace(/-+/g, '-'))
    }
    const expect = async (path, expected, what) => {
      let last
      await until(
        async () => {
          last = await cells(path)
          return JSON.stringify(last) === JSON.stringify(expected)
        },
        `${what}: ${JSON.stringify(expected)}`,
      ).catch((error) => {
        throw new Error(`${what}: ${JSON.stringify(last)}`, { cause: error })
      })
    }
    const cell = (text) => page.locator('.ProseMirror :is(th, td)', { hasText: text })
    const choose = async (text, command) => {
      if (text !== null) await cell(text).click()
      await page.locator('.table-menu').click()
      await page.getByRole('menuitem', { name: command }).click()
    }

    await open('/table.md')
    await cell('4').click()
    await keys.press('End')
    await keys.press('Tab')
    await keys.type('5')
    await keys.press('Tab')
    await keys.type('6')
    const six = ['|A|B|', '|-|-|', '|1|2|', '|3|4|', '|5|6|']
    await expect('/table.md', six, 'a row by Tab')
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/table.png` })

    await choose('3', 'Insert row above')
    await keys.type('x')
    await expect('/table.md', six.toSpliced(3, 0, '|x||'), 'a row above')
    await choose('x', 'Delete row')
    await choose('3', 'Insert row below')
    await choose(null, 'Delete row')
    await choose('5', 'Move row up')
    await expect('/table.md', ['|A|B|', '|-|-|', '|1|2|', '|5|6|', '|3|4|'], 'a row moved up')
    await choose('5', 'Move row down')
    await expect('/table.md', six, 'a row moved down')

    await choose('1', 'Insert column left')
    await keys.type('y')
    await expect(
      '/table.md',
      ['||A|B|', '|-|-|-|', '|y|1|2|', '||3|4|', '||5|6|'],
      'a column to the left',
    )
    await choose('y', 'Move column right')
    await expect(
      '/table.md',
      ['|A||B|', '|-|-|-|', '|1|y|2|', '|3||4|', '|5||6|'],
      'a column moved right',
    )
    await choose('y', 'Delete column')
    await expect('/table.md', six, 'a column removed')

    await choose('2', 'Align right')
    await choose('1', 'Align center')
    await expect('/table.md', ['|A|B|', '|:-:|-:|', '|1|2|', '|3|4|', '|5|6|'], 'alignments')
    await choose('A', 'Delete row')
    await expect('/table.md', ['|1|2|', '|:-:|-:|', '|3|4|', '|5|6|'], 'the head removed')
    await page.locator('.table-add-row').click()
    await keys.type('7')
    await page.locator('.table-add-column').click()
    await keys.type('8')
    await expect(
      '/table.md',
      ['|1|2||', '|:-:|-:|-|', '|3|4||', '|5|6||', '|7||8|'],
      'a row and a column by their buttons',
    )
    await choose('3', 'Delete table')
    await expect('/table.md', [''], 'the table removed')

    // Cells of a spreadsheet fill cells, and make more of them.
    await open('/filled.md')
    await cell('4').click()
    await page.waitForSelector('.table-menu', { state: 'visible' })
    await paste(page, { 'text/plain': 'p\tq\r\nr\ts\r\n' })
    const filled = ['|A|B||', '|-|-|-|', '|1|2||', '|3|p|q|', '||r|s|']
    await expect('/filled.md', filled, 'cells of text')
    await cell('1').click()
    await keys.press('End')
    const html = '<table><tr><td>u</td><td><b>v</b></td></tr></table>'
    await paste(page, { 'text/html': html, 'text/plain': 'u\tv' })
    await expect('/filled.md', filled.toSpliced(2, 1, '|u|**v**||'), 'cells of HTML')

    await open('/new.md')
    await page.click('.ProseMirror')
    await keys.type('/table')
    await keys.press('Enter')
    await keys.type('N')
    await keys.press('Tab')
    await keys.type('M')
    await until(async () => (await cells('/new.md'))[0] === '|N|M||', 'a table of the slash menu')

    // A wide table scrolls; its words stay whole.
    await open('/wide.md')
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/wide.png` })
    const wide = await page.locator('.tableWrapper').evaluate((wrapper) => ({
      scrolls: wrapper.scrollWidth > wrapper.clientWidth + 100,
      pageStays: document.querySelector('.editor-pane').scrollWidth <= innerWidth,
      lines: wrapper.querySelector('td p').getBoundingClientRect().height < 40,
    }))
    assertEqual(wide, { scrolls: true, pageStays: true, lines: true }, 'the wide table')
    assertEqual(await stage.yfs('cat', '/wide.md'), WIDE, 'the table that was only read')
  },
)
