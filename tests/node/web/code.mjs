// Texts and code: the indentation and the line ends of the file, the line below, going to a line,
// the list of symbols, colors of brackets, and the keys of Vim.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, filesOf, scenario, until } from './one_file.mjs'

const PYTHON = 'def f():\n    return 1\n\n\ndef g():\n    foo = Foo\n    return foo\n'

/** A file of a language, and its symbols: each level below another is two spaces. */
const SYMBOLS = {
  'a.ts': [
    'class A {\n  m() {}\n}\ninterface I { w(): void }\nconst f = () => { let x = 1 }\n',
    ['A', '  m', 'I', '  w', 'f'],
  ],
  'a.rs': ['mod m {\n  struct S;\n  impl S { fn n() {} }\n}\n', ['m', '  S', '  impl S', '    n']],
  'a.go': ['package p\ntype T int\nfunc (t T) M() {}\n', ['T', 'M']],
  'a.cpp': [
    'namespace n {\nint *f(int a) { return 0; }\n}\nvoid A::g() {}\n',
    ['n', '  f', 'A::g'],
  ],
  'a.java': ['class A {\n  A() {}\n  void m() {}\n}\n', ['A', '  A', '  m']],
  'a.php': ['<?php\nclass A { function m() {} }\n', ['A', '  m']],
  'a.css': [
    'a, .b > c { top: 0 }\n@media print { d { top: 0 } }\n',
    ['a, .b > c', '@media print', '  d'],
  ],
  'a.html': [
    '<h1>One <b>b</b></h1><p id="x"><i></i></p><script>function f() {}</script>\n',
    ['One b', 'p#x', 'f'],
  ],
  'a.xml': ['<a><b id="1"/><c/></a>\n', ['a', '  b#1', '  c']],
  'a.json': ['{ "a": { "b": [{ "c": 1 }] } }\n', ['a', '  b', '    c']],
  'a.yaml': ['a:\n  "b": 1\nc: 2\n', ['a', '  b', 'c']],
  'a.sql': ['create table t (a int);\nselect 1;\n', ['table t']],
  'a.sh': ['# function not() {\nf() {\n  echo\n}\nfunction g {\n', ['f', 'g']],
  'a.toml': ['[one]\nkey = 1\n', ['one', 'key']],
  'a.rb': ['module M\n  class A\n    def b\n', ['M', '  A', '    b']],
  'a.cs': ['class A {\n  public int M(int a) {\n', ['A', '  M']],
}
const LINES = 'one\ntwo\nthree\nfour\nfive\n'
const BRACKETS = 'f([{ a: "(" }]) // (\n(((((((1)))))))\n'

/** The list of symbols in each language. */
async function checkLanguages(page) {
  const list = page.getByRole('dialog', { name: 'Go to a symbol' })
  const indented = () =>
    list.locator('li').evaluateAll((items) =>
      items.map((item) => {
        const depth = Number(item.style.getPropertyValue('--depth'))
        return '  '.repeat(depth) + item.querySelector('.choice-label').textContent
      }),
    )
  for (const [name, [, expected]] of Object.entries(SYMBOLS)) {
    await page.evaluate((path) => window.harness.open(path), `/${name}`)
    await page.locator(`.cm-content[aria-label="Text of ${name}"] [class]`).first().waitFor()
    await page.locator('.cm-content').click()
    await page.keyboard.press('Control+Shift+O')
    await until(async () => (await list.locator('li').count()) > 0, `the symbols of ${name}`)
    assertEqual(await indented(), expected, `the symbols of ${name}`)
    await page.keyboard.press('Escape')
    await list.waitFor({ state: 'detached' })
  }
}

/** Colors of brackets by depth; those of strings and comments have none. */
async function checkBrackets(page) {
  const colored = () =>
    page.locator('[class*="bracket-color-"]').evaluateAll((marks) =>
      marks.map(({ className, textContent }) => {
        return textContent + /bracket-color-(\d)/.exec(className)[1]
      }),
    )
  const become = (expected, what) =>
    until(async () => (await colored()).join(' ') === expected, `${what}: ${expected}`)
  await page.evaluate(() => window.harness.open('/brackets.js'))
  const deep = '(1 (2 (3 (4 (5 (6 (1 )1 )6 )5 )4 )3 )2 )1'
  await become(`(1 [2 {3 }3 ]2 )1 ${deep}`, 'brackets of JavaScript')
  await page.evaluate(() => window.harness.open('/brackets.sh'))
  await become('(1 )1 {1 (2 )2 }1', 'brackets of a shell')
}

/** Marks at lines that differ from a base, and the way back. */
async function checkChanges(stage, page, stored) {
  const keys = page.keyboard
  const line = page.locator('.status-line')
  const run = (id) =>
    page.evaluate((id) => {
      window.harness.handle
        .actions()
        .find((action) => action.id === id)
        .run()
    }, id)
  const kinds = () =>
    page.locator('.change-mark').evaluateAll((marks) => marks.map(({ className }) => className))
  const become = (expected, what) => {
    const wanted = expected.map((kind) => `change-mark is-${kind}`).join()
    return until(async () => (await kinds()).join() === wanted, `${what}: ${wanted}`)
  }
  assertEqual(await page.locator('.change-gutter').count(), 0, 'margins before')
  await run('changed-lines')
  await line.getByRole('button', { name: '0 changes' }).waitFor()
  await keys.press('Control+Home')
  await keys.type('new\n')
  await become(['added'], 'a new line')
  await page.locator('.cm-line', { hasText: 'three' }).click()
  await keys.press('End')
  await keys.type('!')
  await page.locator('.cm-line', { hasText: 'five' }).click()
  await keys.press('Control+Shift+K')
  await become(['added', 'changed', 'deleted'], 'three changes')
  await line.getByRole('button', { name: '3 changes' }).waitFor()

  // Keys go from one to the next, and around; another shows what stood there before.
  await keys.press('Control+Home')
  for (const [key, place] of [
    ['Alt+F5', 'Line 4, column 1'],
    ['Alt+F5', 'Line 6, column 1'],
    ['Alt+F5', 'Line 1, column 1'],
    ['Shift+Alt+F5', 'Line 6, column 1'],
    ['Shift+Alt+F5', 'Line 4, column 1'],
  ]) {
    await keys.press(key)
    await line.getByText(place, { exact: true }).waitFor()
  }
  const panel = page.getByRole('dialog', { name: 'Change' })
  await keys.press('Alt+F3')
  await panel.locator('.diff-removed', { hasText: 'three' }).waitFor()
  await panel.getByRole('button', { name: 'Next change' }).click()
  await panel.getByText('Deleted lines').waitFor()
  await keys.press('Escape')
  await panel.waitFor({ state: 'detached' })

  // A click on a mark as well; what is taken back is the least edit, which undo takes back.
  await page.locator('.change-mark.is-changed').click()
  await panel.getByRole('button', { name: 'Take back' }).click()
  await become(['added', 'deleted'], 'one taken back')
  assertEqual(await stored('/lines.txt'), 'new\none\ntwo\nthree\nfour\n', 'taken back')
  await keys.press('Control+z')
  await become(['added', 'changed', 'deleted'], 'the change again')
  await page.locator('.change-mark.is-deleted').click()
  await panel.getByRole('button', { name: 'Take back' }).click()
  await become(['added', 'changed'], 'the deleted line')
  await page.locator('.change-mark.is-added').click()
  await panel.getByText('New lines').waitFor()
  await panel.getByRole('button', { name: 'Take back' }).click()
  await become(['changed'], 'the new line')
  assertEqual(await stored('/lines.txt'), LINES.replace('three', 'three!'), 'two taken back')

  // Others are compared with as well: what changed since their last version.
  await stage.yfs('--actor', 'human:ben', 'edit', '/lines.txt', '--old', 'one', '--new', 'ONE')
  await become(['changed', 'changed'], 'the change of another')
  await page.locator('.cm-line', { hasText: 'four' }).click()
  await keys.press('End')
  await keys.type('?')
  await line.getByRole('button', { name: '2 changes' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'of another author' }).click()
  await line.getByRole('button', { name: '1 change', exact: true }).waitFor()
  await become(['changed'], 'since the version of Ben')
  await run('changed-lines')
  await page.locator('.change-gutter').waitFor({ state: 'detached' })
}

await scenario(
  ({ directory }) => {
    for (const [name, [text]] of Object.entries(SYMBOLS)) writeFileSync(join(directory, name), text)
    writeFileSync(join(directory, 'brackets.js'), BRACKETS)
    writeFileSync(join(directory, 'brackets.sh'), 'f() { echo "(" $(ls) # )\n}\n')
    writeFileSync(join(directory, 'app.py'), PYTHON)
    writeFileSync(join(directory, 'new.py'), '')
    writeFileSync(join(directory, 'win.txt'), 'a\r\nb\r\nc\n')
    writeFileSync(join(directory, 'lines.txt'), LINES)
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

    // The list of symbols begins at the caret; typing filters it, Enter goes there.
    const symbols = page.getByRole('dialog', { name: 'Go to a symbol' })
    const labels = () => symbols.locator('.choice-label').allTextContents()
    await keys.press('Control+Shift+O')
    await until(async () => (await labels()).join() === 'f,g', 'the symbols of Python')
    assertEqual(await symbols.locator('.is-selected').textContent(), 'ffunction', 'the one here')
    await keys.press('ArrowDown')
    await symbols.locator('.is-selected', { hasText: 'g' }).waitFor()
    await keys.press('Enter')
    await says('Line 6, column 1')
    await keys.press('Control+Shift+O')
    // Enter may come before the list.
    await keys.type('F')
    await keys.press('Enter')
    await says('Line 1, column 1')
    await keys.press('Control+Shift+O')
    await keys.type('none')
    await symbols.getByText('Nothing matches.').waitFor()
    await keys.press('Escape')
    await symbols.waitFor({ state: 'detached' })
    await checkLanguages(page)
    await checkBrackets(page)

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

    await open('/lines.txt')
    await checkChanges(stage, page, stored)

    // The keys of Vim, for who wants them, and brackets without colors.
    await page.evaluate(() => {
      localStorage.setItem('yfs:vim-keys', 'on')
      localStorage.setItem('yfs:bracket-colors', 'off')
    })
    await page.reload()
    await page.waitForFunction(() => window.harness !== undefined)
    await page.waitForFunction(() => window.harness.workspace.idOf('/vim.txt') !== null)
    await open('/brackets.js')
    await page.locator('.cm-line span').first().waitFor()
    assertEqual(await page.locator('[class*="bracket-color-"]').count(), 0, 'colors of brackets')
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
