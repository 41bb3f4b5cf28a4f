// What is typed in a file with any line ends and characters is where the page shows it: at the end
// of each line, by Enter, replaced everywhere, undone, and seen by another person.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const FILES = {
  'dos.txt': 'alpha\r\nbeta\r\ngamma\r\n',
  'mac.txt': 'alpha\rbeta\rgamma\r',
  'mixed.txt': 'one\r\n\r\ntwo\nthree\rfour\r\r\nfive\n\rsix',
  'odd.csv': '\ufeffa\u2028b\r\n😀😀,é\u2029\r\n\t\u0001x\u0085y\v\f\r\n👩‍👩‍👧\r\n',
  'unix.txt': 'alpha\nbeta\n',
}
const N_RANDOM = 400

const linesOf = (text) => text.split(/\r\n?|\n/)

/** Types at the end of each line; returns the file that should result. */
async function typeAtEnds(page, text) {
  const ends = text.match(/\r\n?|\n/g) ?? []
  const lines = linesOf(text)
  await page.locator('.cm-content').focus()
  await page.keyboard.press('Control+Home')
  for (const n of lines.keys()) {
    if (n > 0) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.type(`<${n}>`)
  }
  return lines.map((line, n) => `${line}<${n}>${ends[n] ?? ''}`).join('')
}

const cat = (stage, path) => stage.yfs('cat', path)

async function endsUp(stage, page, path, expected, what) {
  await saved(page)
  assertEqual(await cat(stage, path), expected, `${path}, ${what}`)
}

async function playRandomTexts(page) {
  const wrong = await page.evaluate((nRandom) => {
    const found = []
    for (let seed = 1; seed <= nRandom; seed++) {
      const problem = window.harness.playRandomText(seed)
      if (problem !== null) found.push(problem)
    }
    return found
  }, N_RANDOM)
  if (wrong.length > 0) throw new Error(`random texts: ${wrong.slice(0, 5).join('\n')}`)
}

async function replaceAll(page, search, replace) {
  await page.locator('.cm-content').focus()
  await page.keyboard.press('Control+h')
  await page.locator('.cm-panels input[name=search]').fill(search)
  await page.locator('.cm-panels input[name=replace]').fill(replace)
  await page.locator('.cm-panels button[name=replaceAll]').click()
  await page.keyboard.press('Escape')
}

await scenario(
  ({ directory }) => {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text)
    writeFileSync(join(directory, 'replace.txt'), 'foo one\r\nfoo two\nfoo three\rfoo\r\n')
  },
  async (stage) => {
    const page = await stage.open(null)
    await playRandomTexts(page)
    for (const [name, text] of Object.entries(FILES)) {
      const path = `/${name}`
      await page.evaluate((path) => window.harness.open(path), path)
      await shows(page, 'text')
      const typed = await typeAtEnds(page, text)
      await endsUp(stage, page, path, typed, 'typed at the ends of the lines')
      for (const _ of linesOf(text)) await page.keyboard.press('Control+z')
      await endsUp(stage, page, path, text, 'undone')
    }

    // Enter makes the line end that most lines have; Backspace removes all of it.
    const dos = '/dos.txt'
    await page.evaluate((path) => window.harness.open(path), dos)
    await shows(page, 'text')
    await page.locator('.cm-line', { hasText: 'beta' }).click()
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('new')
    await endsUp(stage, page, dos, 'alpha\r\nbeta\r\nnew\r\ngamma\r\n', 'after Enter')
    await page.keyboard.press('Home')
    await page.keyboard.press('Backspace')
    await endsUp(stage, page, dos, 'alpha\r\nbetanew\r\ngamma\r\n', 'after Backspace')

    // Another person sees the caret where it is, and types there.
    const ben = await stage.open(dos, { name: 'Ben', color: '#b4642d' })
    await shows(ben, 'text')
    await page.locator('.cm-line', { hasText: 'gamma' }).click()
    await page.keyboard.press('End')
    await page.keyboard.type('!')
    const label = ben.locator('.cm-line', { has: ben.locator('.cm-ySelectionInfo') })
    await until(async () => (await label.textContent())?.startsWith('gamma!'), 'the caret of Ana')
    await ben.locator('.cm-line', { hasText: 'betanew' }).click()
    await ben.keyboard.press('End')
    await ben.keyboard.press('Enter')
    await ben.keyboard.type('of Ben')
    await saved(ben)
    await until(() => page.locator('.cm-line', { hasText: 'of Ben' }).count(), 'the line of Ben')
    await page.keyboard.type('?')
    const both = 'alpha\r\nbetanew\r\nof Ben\r\ngamma!?\r\n'
    await endsUp(stage, page, dos, both, 'typed by two')

    await page.evaluate(() => window.harness.open('/replace.txt'))
    await shows(page, 'text')
    await replaceAll(page, 'foo', 'barre')
    const replaced = 'barre one\r\nbarre two\nbarre three\rbarre\r\n'
    await endsUp(stage, page, '/replace.txt', replaced, 'all replaced')
  },
)
