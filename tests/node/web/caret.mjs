// A file is renamed from `.md` to `.txt` and back while two people type in it: each goes on where
// the caret was, no key is lost, and each sees the cursor of the other where it is.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const PLAN = `---
owner: ana
---

# Plan

- [guide](https://example.org/a/long/address) of *all*

First by Ana:

Between **them** stands a line.

Then by Ben:

\`\`\`rust
let last = 1;
\`\`\`
`

const LINES = '.ProseMirror p, .cm-line'

async function putCaret(page, line) {
  await page.locator(LINES, { hasText: line }).last().click()
  await page.keyboard.press('End')
}

/** Types words until it has to stop; returns what it typed. */
function typist(page, name) {
  let typed = ''
  let stopped = false
  const go = async () => {
    for (let n = 0; !stopped; n++) {
      // A word ends with a letter: what the page shows is then what the file says.
      const word = ` ${name}${n}${name}`
      await page.keyboard.type(word, { delay: 4 })
      typed += word
    }
  }
  const running = go()
  const stop = async () => ((stopped = true), await running, typed)
  return { length: () => typed.length, stop }
}

const fileWith = (ana, ben) =>
  PLAN.replace('First by Ana:', `First by Ana:${ana}`).replace('Then by Ben:', `Then by Ben:${ben}`)

/** Returns whether a page shows the cursor of another one in the line with a text. */
const showsCursor = (page, name, line) =>
  page.evaluate(
    ([cursorOf, text, lines]) =>
      [...document.querySelectorAll('.remote-cursor-name, .cm-ySelectionInfo')].some(
        (label) =>
          label.textContent === cursorOf && label.closest(lines)?.textContent.includes(text),
      ),
    [name, line, LINES],
  )

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'plan.md'), PLAN)
  },
  async (stage) => {
    const ana = await stage.open('/plan.md', { name: 'Ana' })
    const ben = await stage.open('/plan.md', { name: 'Ben', color: '#b4642d' })
    for (const page of [ana, ben]) await shows(page, 'richtext')
    await putCaret(ana, 'First by Ana')
    await putCaret(ben, 'Then by Ben')
    const all = ['', '']
    for (const [from, to] of [
      ['md', 'txt'],
      ['txt', 'md'],
      ['md', 'txt'],
    ]) {
      const typists = [typist(ana, 'a'), typist(ben, 'b')]
      const typedMore = async () => {
        const before = typists.map(({ length }) => length())
        const isMore = () => typists.every(({ length }, n) => length() > before[n] + 40)
        await until(isMore, 'more words')
      }
      await typedMore()
      await stage.yfs('mv', `/plan.${from}`, `/plan.${to}`)
      for (const page of [ana, ben]) await shows(page, to === 'md' ? 'richtext' : 'text')
      await typedMore()
      for (const [n, { stop }] of typists.entries()) all[n] += await stop()
      for (const page of [ana, ben]) await saved(page)
      assertEqual(await stage.yfs('cat', `/plan.${to}`), fileWith(...all), `the .${to} file`)
      await until(() => showsCursor(ana, 'Ben', 'Then by Ben'), 'the cursor of Ben')
      await until(() => showsCursor(ben, 'Ana', 'First by Ana'), 'the cursor of Ana')
    }

    // The line at the end of the text is a paragraph of its own, and a selection stays one.
    await ana.keyboard.press('Control+End')
    await putCaret(ben, 'Between')
    await ben.keyboard.press('Shift+Home')
    await stage.yfs('mv', '/plan.txt', '/plan.md')
    for (const page of [ana, ben]) await shows(page, 'richtext')
    await ana.keyboard.type('The end')
    await ben.keyboard.type('One line')
    for (const page of [ana, ben]) await saved(page)
    const last = fileWith(...all).replace('Between **them** stands a line.', 'One line')
    assertEqual(await stage.yfs('cat', '/plan.md'), `${last}\nThe end\n`, 'the last file')
  },
)
