// The source of a markdown file is edited while others edit its rich text: nothing is lost, also
// without the server, and what was not edited keeps its bytes. Argument: a seed.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addressOf,
  assertEqual,
  saved,
  savedState,
  scenario,
  shows,
  textOf,
  until,
} from './one_file.mjs'

const [seed = '1'] = process.argv.slice(2)
const N_WORDS = 40
const FILES = {
  'plan.md': '# Plan\n\nAna writes:\n\nBen writes:\n\nLeft: and right:\n',
  'odd.md': '---\ntitle: Odd\n---\nTitle\n=====\r\n\r\n*  one\r\n*  two 😀\r\n\r\n[x]: y "z"\r\n',
  'chaos.md': `${Array.from({ length: 12 }, (_, n) => `Line ${n}:`).join('\n\n')}\n`,
}

/** A generator of numbers below a bound, of Park and Miller. */
function randomOf(first) {
  let state = Number(first) % 2147483647 || 1
  return (bound) => {
    state = (state * 48271) % 2147483647
    return state % bound
  }
}

/** Returns the lines that a source view shows. */
const linesOf = (page) =>
  page.evaluate(() => [...document.querySelectorAll('.cm-line')].map((line) => line.textContent))

await scenario(
  async ({ directory, yfs }) => {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text)
    await yfs('init')
  },
  async (stage) => {
    const source = async (page, path) => {
      await page.evaluate((path) => window.harness.open(path), path)
      await page.getByRole('button', { name: 'Source' }).click()
      await shows(page, 'source')
    }
    const endOf = async (page, text) => {
      const line = page.locator('.cm-line, .ProseMirror p').filter({ hasText: text }).first()
      await line.click()
      await page.keyboard.press('End')
    }
    const stored = async (path) => {
      await Promise.all([saved(ana), saved(ben)])
      return stage.yfs('cat', path)
    }
    const ana = await stage.open('/plan.md')
    const ben = await stage.open('/plan.md', { name: 'Ben' })
    await shows(ben, 'richtext')
    await source(ana, '/plan.md')

    // In lines of their own, and then both in one.
    await Promise.all([endOf(ana, 'Ana writes'), endOf(ben, 'Ben writes')])
    const words = (name) => Array.from({ length: N_WORDS }, (_, n) => ` ${name}${n}`).join('')
    await Promise.all([ana.keyboard.type(words('a')), ben.keyboard.type(words('b'))])
    await Promise.all([endOf(ana, 'Left'), endOf(ben, 'Left')])
    await ana.keyboard.press('Home')
    for (let n = 0; n < 'Left:'.length; n++) await ana.keyboard.press('ArrowRight')
    await Promise.all([ana.keyboard.type(words('c')), ben.keyboard.type(words('d'))])
    await until(async () => (await textOf(ben)).includes(`c${N_WORDS - 1}`), 'what Ana types')
    await until(async () => (await textOf(ana)).includes(`d${N_WORDS - 1}`), 'what Ben types')
    const text = await stored('/plan.md')
    assertEqual(text.includes(`Ana writes:${words('a')}\n`), true, `Ana's line: ${text}`)
    assertEqual(text.includes(`Ben writes:${words('b')}\n`), true, `Ben's line: ${text}`)
    const both = `Left:${words('c')} and right:${words('d')}\n`
    assertEqual(text.includes(both), true, `the line of both: ${text}`)
    await until(async () => (await linesOf(ana)).join('\n') === text, 'the source as stored')

    // Undo takes back what Ana typed, and no word of Ben's.
    for (let n = 0; n < 30; n++) await ana.keyboard.press('Control+z')
    await until(async () => !/ [ac]\d/.test(await stage.yfs('cat', '/plan.md')), 'the undo')
    assertEqual((await stored('/plan.md')).includes(words('b')), true, "Ben's words after the undo")

    // Line ends, setext headings and definitions stay as they are around one letter.
    await source(ana, '/odd.md')
    await endOf(ana, 'two')
    await ana.keyboard.type('!')
    assertEqual(await stored('/odd.md'), FILES['odd.md'].replace('😀', '😀!'), 'one letter')

    // Without the server what is typed stays, and is sent when it is back; also after a reload.
    const restart = await stage.stopServer()
    await ana.keyboard.type('?')
    await until(async () => (await savedState(ana)) === 'waiting', 'the state without a server')
    await restart()
    assertEqual(await stored('/odd.md'), FILES['odd.md'].replace('😀', '😀!?'), 'sent later')
    await ana.route('**/api/files/**', (route) => {
      return route.request().method() === 'PUT' ? route.abort() : route.continue()
    })
    await ana.keyboard.type(' kept')
    await until(async () => (await savedState(ana)) === 'waiting', 'the state while writes fail')
    await ana.unroute('**/api/files/**')
    ana.on('dialog', (dialog) => void dialog.accept())
    await ana.goto((await addressOf(ana)).href)
    await ana.waitForFunction(() => window.harness?.handle)
    await source(ana, '/odd.md')
    assertEqual(await stored('/odd.md'), FILES['odd.md'].replace('😀', '😀!? kept'), 'kept')

    // An answer that is lost is no second write.
    let nLost = 0
    await ana.route('**/api/files/**', async (route) => {
      if (route.request().method() !== 'PUT' || nLost > 1) return route.continue()
      nLost += 1
      await route.fetch()
      await route.abort()
    })
    await endOf(ana, 'one')
    await ana.keyboard.type(' once')
    await until(() => nLost > 0, 'a lost answer')
    const once = await stored('/odd.md')
    assertEqual(once.split('once').length - 1, 1, once)
    await ana.unroute('**/api/files/**')

    // Leaving the view sends what was typed.
    await ana.keyboard.type(' left')
    await ana.getByRole('button', { name: 'Edit', exact: true }).click()
    await shows(ana, 'richtext')
    await until(async () => (await stage.yfs('cat', '/odd.md')).includes('left'), 'what was left')

    // Random edits of three writers, each in lines of their own: two who type at one place at once
    // may part each other's words. Each word is there once.
    await source(ana, '/chaos.md')
    await ben.evaluate(() => window.harness.open('/chaos.md'))
    await shows(ben, 'richtext')
    await ben.getByText('Line 11:').waitFor()
    const random = randomOf(seed)
    const typed = []
    for (let step = 0; step < 40; step++) {
      const [page, name, first] = random(2) === 0 ? [ana, 'a', 0] : [ben, 'b', 4]
      await endOf(page, `Line ${first + random(4)}:`)
      typed.push(`${name}${step}`)
      await page.keyboard.type(` ${name}${step}`)
      if (random(4) === 0) {
        typed.push(`z${step}`)
        const line = `Line ${8 + random(4)}:`
        await stage.yfs('edit', '/chaos.md', line, `${line} z${step}`)
      }
    }
    const chaos = await stored('/chaos.md')
    for (const word of typed) {
      assertEqual(chaos.split(new RegExp(`\\b${word}\\b`)).length - 1, 1, `${word} in ${chaos}`)
    }
    await until(async () => (await linesOf(ana)).join('\n') === chaos, 'the source at the end')
  },
)
