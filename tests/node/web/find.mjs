// Find and replace in text and in rich text: count, case, words, expressions, and one undo.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const TEXT = 'cat Cat\ncats category\n10 20\ncat\n'
const MARKDOWN = '# A cat\n\nThe cat and the **Cat** in the category.\n\n* cat\n* dog\n'

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'a.txt'), TEXT)
    writeFileSync(join(directory, 'a.md'), MARKDOWN)
  },
  async (stage) => {
    const page = await stage.open(null)
    const keys = page.keyboard
    const panel = page.getByRole('search')
    const counts = (text) =>
      until(async () => (await panel.locator('.find-count').textContent()) === text, text)
    const toggle = (name) => panel.getByRole('button', { name, exact: true }).click()
    const open = async (path, editor, content) => {
      await page.evaluate((path) => window.harness.open(path), path)
      await shows(page, editor)
      await page.locator(content).first().focus()
      await keys.press('Control+Home')
    }

    /** The steps that are equal in both editors; `n` are the numbers of matches. */
    const play = async (n) => {
      await keys.press('Control+f')
      await panel.getByRole('textbox', { name: 'Find' }).fill('cat')
      await counts(`? of ${n.all}`)
      await keys.press('Enter')
      await counts(`1 of ${n.all}`)
      await keys.press('Enter')
      await keys.press('F3')
      await counts(`3 of ${n.all}`)
      await keys.press('Shift+Enter')
      await counts(`2 of ${n.all}`)
      await toggle('Whole words')
      await until(
        async () => (await panel.locator('.find-count').textContent()).endsWith(`of ${n.words}`),
        'whole words',
      )
      await toggle('Match case')
      await until(
        async () => (await panel.locator('.find-count').textContent()).endsWith(`of ${n.cased}`),
        'the case',
      )
      await keys.press('Escape')
      await panel.waitFor({ state: 'detached' })
      // A selection would be looked for instead.
      await keys.press('Control+Home')
      await keys.press('Control+h')
      await panel.getByRole('textbox', { name: 'Replace with' }).fill('bird')
      await panel.getByRole('button', { name: 'Replace all' }).click()
      await counts('No results')
      await saved(page)
    }

    await open('/a.txt', 'text', '.cm-content')
    await play({ all: 5, words: 3, cased: 2 })
    const words = 'bird Cat\ncats category\n10 20\nbird\n'
    assertEqual(await stage.yfs('cat', '/a.txt'), words, 'words replaced')
    await toggle('Regular expression')
    await panel.getByRole('textbox', { name: 'Find' }).fill('(\\d)0')
    await panel.getByRole('textbox', { name: 'Replace with' }).fill('$1-')
    await panel.getByRole('button', { name: 'Replace all' }).click()
    await saved(page)
    assertEqual((await stage.yfs('cat', '/a.txt')).includes('1- 2-'), true, 'the expression')
    await panel.getByRole('textbox', { name: 'Find' }).fill('(')
    await counts('Not a valid expression')
    await keys.press('Escape')
    await keys.press('Control+z')
    await keys.press('Control+z')
    await saved(page)
    assertEqual(await stage.yfs('cat', '/a.txt'), TEXT, 'the text undone')

    await open('/a.md', 'richtext', '.ProseMirror')
    await play({ all: 5, words: 4, cased: 3 })
    const replaced = '# A bird\n\nThe bird and the **Cat** in the category.\n\n* bird\n* dog\n'
    assertEqual(await stage.yfs('cat', '/a.md'), replaced, 'the markdown replaced')
    await keys.press('Escape')
    await keys.press('Control+z')
    await saved(page)
    assertEqual(await stage.yfs('cat', '/a.md'), MARKDOWN, 'one undo')
    // What is selected is looked for.
    const word = page.locator('.ProseMirror strong')
    await word.click()
    await word.evaluate((element) => getSelection().selectAllChildren(element))
    await page.getByRole('toolbar', { name: 'Format of the selection' }).waitFor()
    await keys.press('Control+f')
    assertEqual(await panel.getByRole('textbox', { name: 'Find' }).inputValue(), 'Cat', 'the word')
    if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE })
  },
)
