// One markdown file, changed at the same time by two people in browsers, an agent over MCP and a
// program on the disk, each in a section of its own: every character stays, each person's caret
// stays where they type, and all four have the same text in the end.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startAgent } from './agent.mjs'
import { assertEqual, saved, scenario, shows, until } from './one_file.mjs'

const N_STEPS = 12
/** The changes are spread over the time in which the people type. */
const PAUSE_MS = 120
const SECTIONS = ['Ana', 'Ben', 'Agent', 'Disk']

/** The text of an editor without the names at the cursors of others. */
const contentOf = (page) =>
  page.evaluate(() => {
    const content = document.querySelector('.ProseMirror').cloneNode(true)
    for (const cursor of content.querySelectorAll('.remote-cursor')) cursor.remove()
    const blocks = content.querySelectorAll('h1, h2, p')
    return [...blocks].map((block) => block.textContent.trim()).join('\n')
  })

/** Words that occur nowhere else. */
const words = (author) => Array.from({ length: N_STEPS }, (_, n) => `${author}${n + 1}end`)

async function type(page, section) {
  await page.locator('.ProseMirror h2', { hasText: section }).locator('+ p').click()
  await page.keyboard.press('End')
  for (const word of words(section)) await page.keyboard.type(` ${word}`, { delay: 15 })
}

async function edit(agent) {
  for (const word of words('Agent')) {
    const old = 'Written by Agent:'
    const change = { old_string: old, new_string: `${old} ${word}` }
    await agent.call('edit_file', { file_path: '/plan.md', ...change })
    await pause(PAUSE_MS)
  }
}

/** Reads and replaces the file as editors and scripts do, by a new file with its name. */
async function save(path, yfs) {
  for (const word of words('Disk')) {
    const text = readFileSync(path, 'utf8')
    const old = 'Written by Disk:'
    writeFileSync(`${path}.new`, text.replace(old, `${old} ${word}`))
    renameSync(`${path}.new`, path)
    await until(async () => (await yfs('cat', '/plan.md')).includes(word), `${word} of the disk`)
    await pause(PAUSE_MS)
  }
}

await scenario(
  ({ directory }) => {
    const sections = SECTIONS.map((name) => `## ${name}\n\nWritten by ${name}:\n`)
    writeFileSync(join(directory, 'plan.md'), `# Plan\n\n${sections.join('\n')}`)
  },
  async (stage) => {
    const path = join(stage.directory, 'plan.md')
    const ana = await stage.open('/plan.md', { name: 'Ana' })
    const ben = await stage.open('/plan.md', { name: 'Ben', color: '#b4642d' })
    for (const page of [ana, ben]) await shows(page, 'richtext')
    const agent = await startAgent(stage.program, stage.directory, 'planner')
    const yfs = (...args) => stage.yfs(...args)
    await Promise.all([type(ana, 'Ana'), type(ben, 'Ben'), edit(agent), save(path, yfs)])
    await agent.stop()
    for (const page of [ana, ben]) await saved(page)

    const all = SECTIONS.flatMap(words)
    const missing = (text) => all.filter((word) => text.split(word).length !== 2)
    for (const [name, page] of Object.entries({ Ana: ana, Ben: ben })) {
      await until(async () => missing(await contentOf(page)).length === 0, `all words at ${name}`)
    }
    await until(async () => {
      const stored = await yfs('cat', '/plan.md')
      return missing(stored).length === 0 && readFileSync(path, 'utf8') === stored
    }, 'the same text in the workspace and on the disk')

    // Each author's words stand together, in their section, in the order of typing.
    const stored = await yfs('cat', '/plan.md')
    const section = (name) => stored.split(`## ${name}\n`)[1].split('##')[0].trim()
    for (const name of ['Ana', 'Ben']) {
      const typed = `Written by ${name}: ${words(name).join(' ')}`
      assertEqual(section(name), typed, `the section of ${name} in ${stored}`)
    }
    for (const name of ['Agent', 'Disk']) {
      const expected = `Written by ${name}: ${words(name).toReversed().join(' ')}`
      assertEqual(section(name), expected, name)
    }
    assertEqual(await contentOf(ana), await contentOf(ben), 'both browsers')
    const authors = await yfs('log', '/plan.md', '--json')
    for (const actor of ['agent:planner', 'mirror:']) {
      if (!authors.includes(actor)) throw new Error(`the log does not name ${actor}: ${authors}`)
    }
  },
)
