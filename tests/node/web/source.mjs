// The source of a markdown file is edited while others edit its rich text: nothing is lost, also
// without the server, and what was not edited keeps its bytes. Side by side, both forms show one
// place, and each what is typed in the other. Argument: a seed.

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
/** So many blocks that not all are laid out. */
const sections = Array.from({ length: 140 }, (_, n) => {
  const list = Array.from({ length: n % 4 }, (_, item) => `- item ${item} of ${n}\n`).join('')
  return `## Part ${n}\n\n${`Words of [part](a.md) ${n}. `.repeat(1 + (n % 9))}\n\n${list}`
})
const FILES = {
  'plan.md': '# Plan\n\nAna writes:\n\nBen writes:\n\nLeft: and right:\n',
  'odd.md': '---\ntitle: Odd\n---\nTitle\n=====\r\n\r\n*  one\r\n*  two 😀\r\n\r\n[x]: y "z"\r\n',
  'both.md': `---\ntitle: Both\n---\n\n${sections.join('\n')}`,
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

/** Returns the numbers of the first parts whose headings are in the rich text and in the source. */
const partsInView = (page) =>
  page.evaluate(() => {
    const firstOf = (pane, headings) => {
      const { top } = pane.getBoundingClientRect()
      const isBelow = (line) => line.getBoundingClientRect().top >= top - 2
      const first = [...pane.querySelectorAll(headings)].find(
        (line) => /Part \d+/.test(line.textContent) && isBelow(line),
      )
      return Number(/Part (\d+)/.exec(first?.textContent ?? '')?.[1] ?? NaN)
    }
    const rich = document.querySelector('.editor-pane:has(> .rich-page)')
    const source = document.querySelector('.split-source .cm-scroller')
    return [firstOf(rich, 'h2'), firstOf(source, '.cm-line')]
  })

/** Rich text and source side by side. */
async function checkSplit(page, path, stored) {
  const keys = page.keyboard
  await page.evaluate((path) => window.harness.open(path), path)
  await shows(page, 'richtext')
  await page.locator('.ProseMirror p').first().click()
  await keys.press('End')
  await keys.type(' Before.')
  await keys.press('Control+\\')
  const source = page.locator('.split-source .cm-content')
  await source.waitFor()

  // The rich text is the one that was there: its caret, and its undo.
  await keys.type(' Rich.')
  await source.getByText('Before. Rich.').waitFor()
  await until(async () => {
    // What was typed slowly is several steps.
    await keys.press('Control+z')
    const first = await page.locator('.ProseMirror p').first().textContent()
    return /^Words of part 0\.\s*$/.test(first)
  }, 'the undo')
  await source.locator('.cm-line', { hasText: '## Part 0' }).click()
  await keys.press('End')
  await keys.type(' typed')
  await page.locator('.ProseMirror h2', { hasText: 'Part 0 typed' }).waitFor()
  const text = await stored(path)
  const typed = FILES['both.md'].replace('Part 0\n', 'Part 0 typed\n')
  assertEqual(text === typed, true, `both forms: ${text.slice(0, 200)}`)

  // Each side follows the other one, and leaves it where it is.
  const isTogether = async (least) => {
    const [rich, source] = await partsInView(page)
    return rich >= least && source >= least && Math.abs(rich - source) <= 1
  }
  const wheelOver = async (selector, by) => {
    const { x, y } = await page.locator(selector).boundingBox()
    await page.mouse.move(x + 200, y + 300)
    await page.mouse.wheel(0, by)
  }
  await wheelOver('.editor-content', 3000)
  await until(() => isTogether(10), 'the source at the place of the rich text')
  await wheelOver('.split-source', 600)
  await until(() => isTogether(15), 'the rich text at the place of the source')
  await wheelOver('.split-source', 60_000)
  const ends = () =>
    page.evaluate(() => {
      const rich = document.querySelector('.editor-pane:has(> .rich-page)')
      const panes = [rich, document.querySelector('.split-source .cm-scroller')]
      return panes.map((pane) => pane.scrollHeight - pane.clientHeight - pane.scrollTop < 3)
    })
  await until(async () => (await ends()).join() === 'true,true', 'both ends')

  // The divider is moved by keys; the key of the view closes it.
  const divider = page.getByRole('separator', { name: 'Width of the rich text' })
  await divider.focus()
  await keys.press('ArrowLeft')
  const share = () => divider.getAttribute('aria-valuenow')
  assertEqual(await share(), '45', 'the share of the rich text')
  // In a page from the right, the rich text is at the right.
  const turn = (direction) =>
    page.evaluate((direction) => (document.documentElement.dir = direction), direction)
  await turn('rtl')
  await keys.press('ArrowLeft')
  assertEqual(await share(), '50', 'the share from the right')
  const { x, y, width } = await divider.boundingBox()
  await page.mouse.move(x + width / 2, y + 200)
  await page.mouse.down()
  await page.mouse.move(x + width / 2 + 200, y + 200)
  await page.mouse.up()
  if (!(Number(await share()) < 45)) throw new Error(`dragged from the right: ${await share()}`)
  await turn('ltr')
  await keys.press('Control+\\')
  await page.locator('.split-source').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Split' }).click()
  await source.waitFor()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.locator('.split-source').waitFor({ state: 'detached' })
}

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

    await checkSplit(ana, '/both.md', stored)

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
