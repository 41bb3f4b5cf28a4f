// What other programs copied is pasted with its structure: `node clipboards.mjs PROFILE FIXTURES`.
//
// Each file `clipboards/NAME.html` (or `.txt`) is a clipboard, and `NAME.md` the file after it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, parse } from 'node:path'
import { assertEqual, paste, saved, scenario, shows } from './one_file.mjs'

const [profile, fixtures] = process.argv.slice(2)
const directory = join(fixtures, 'clipboards')
/** What only the profile `gfm` has: tables, tasks, strikethrough. */
const ONLY_GFM = /^\||\[[ x]\]|~~/m

const textOf = (name) => readFileSync(join(directory, name), 'utf8')
const clipboards = readdirSync(directory)
  .filter((name) => /\.(html|txt)$/.test(name))
  .map((name) => {
    const { name: stem, ext } = parse(name)
    const content = textOf(name)
    const plain = content.replace(/<[^>]*>/g, '').trim()
    const types = ext === '.txt' ? { 'text/plain': content } : { 'text/html': content }
    return { stem, types: { 'text/plain': plain, ...types }, expected: textOf(`${stem}.md`) }
  })
  .filter(({ expected }) => profile === 'gfm' || !ONLY_GFM.test(expected))

await scenario(
  async (stage) => {
    for (const { stem } of clipboards) writeFileSync(join(stage.directory, `${stem}.md`), '')
    await stage.yfs('init', '--profile', profile)
  },
  async (stage) => {
    const page = await stage.open(null)
    const failures = []
    for (const { stem, types, expected } of clipboards) {
      await page.evaluate((path) => window.harness.open(path), `/${stem}.md`)
      await shows(page, 'richtext')
      await page.click('.ProseMirror')
      await paste(page, types)
      await page.waitForFunction(() => document.querySelector('.ProseMirror').textContent !== '')
      await saved(page)
      try {
        assertEqual(await stage.yfs('cat', `/${stem}.md`), expected, stem)
      } catch (error) {
        failures.push(error.message)
      }
    }
    if (failures.length > 0) throw new Error(failures.join('\n'))
  },
)
