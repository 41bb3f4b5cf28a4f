// Texts and code: the indentation and the line ends of the file, the line below, going to a line,
// and the keys of Vim.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, filesOf, scenario } from './one_file.mjs'

const PYTHON = 'def f():\n    return 1\n\n\ndef g():\n    foo = Foo\n    return foo\n'

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'app.py'), PYTHON)
    writeFileSync(join(directory, 'new.py'), '')
    writeFileSync(join(directory, 'win.txt'), 'a\r\nb\r\nc\n')
    writeFileSync(join(directory, 'tabs.c'), 'int f() {\n\treturn 1;\n}\n')
    writeFileSync(join(directory, 'vim.txt'), 'one\ntwo\nthree\n')
  },
  async (stage) => {
    const page = await stage.open(null)
    const keys = page.keyboard
    const { stored, ...files } = filesOf(stage, page)
    const open = async (path) => {
      await files.open(path, 'text')
      await page.locator('.cm-content').click()
    }
    const line = page.locator('.status-line')
    const says = (text) => line.getByText(text, { exact: true }).waitFor()

    await open('/app.py')
    for (const text of ['4 spaces', 'Wrapped', 'UTF-8 LF', 'Python']) await says(text)
    await keys.press('Control+Home')
    await keys.press('End')
    await says('Line 1, column 9')
    await keys.press('Enter')
    await keys.type('x = 1')
    const typed = PYTHON.replace('():\n', '():\n    x = 1\n')
    assertEqual(await stored('/app.py'), typed, 'the new line')
    await keys.press('Shift+Home')
    await says('5 characters selected')

    // Go to a line.
    await keys.press('Control+g')
    await page.locator('.cm-gotoLine input, .cm-dialog input').fill('3')
    await keys.press('Enter')
    await says('Line 3, column 1')

    // Other files: no lines yet, mixed ends, tabs.
    await open('/new.py')
    await says('4 spaces')
    await keys.type('if x:')
    await keys.press('Enter')
    await keys.type('y')
    assertEqual(await stored('/new.py'), 'if x:\n    y', 'Python has four spaces')
    await open('/win.txt')
    await says('UTF-8 CRLF+LF')
    await says('Plain text')
    await open('/tabs.c')
    await says('Tabs')
    await line.getByRole('button', { name: 'Tabs' }).click()
    await page.getByRole('menuitemcheckbox', { name: '2 spaces' }).click()
    await keys.press('Control+End')
    await keys.press('Tab')
    assertEqual((await stored('/tabs.c')).endsWith('}\n  '), true, 'the chosen indentation')

    // The keys of Vim, for who wants them.
    await page.evaluate(() => localStorage.setItem('yfs:vim-keys', 'on'))
    await page.reload()
    await page.waitForFunction(() => window.harness !== undefined)
    await page.waitForFunction(() => window.harness.workspace.idOf('/vim.txt') !== null)
    await open('/vim.txt')
    await page.locator('.cm-vim-panel, .cm-fat-cursor').first().waitFor({ state: 'attached' })
    await keys.press('g')
    await keys.press('g')
    await keys.press('d')
    await keys.press('d')
    assertEqual(await stored('/vim.txt'), 'two\nthree\n', 'dd')
    await keys.type('iA')
    await keys.press('Escape')
    assertEqual(await stored('/vim.txt'), 'Atwo\nthree\n', 'inserted')
  },
)
