// How long a keystroke takes in 200 KB of markdown and of text, and in 1 MB of code with marks at
// changed lines and colors of brackets, until the next frame is painted.
// Prints the figures; fails only if a character is lost.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { saved, scenario, shows } from './one_file.mjs'

const N_KEYS = 200
const CODE = 'const f = (a: { b: [number] }) => {\n  return [a.b, (a)]\n}\n'

function markdown(size) {
  const parts = ['# A long document\n']
  for (let n = 1, length = 0; length < size; n++) {
    const part =
      `\n## Section ${n}\n\nParagraph ${n} has *some* emphasis, \`code\` and a [link](a.md).\n` +
      `It goes on for a second line.\n\n- first\n- second\n\n| a | b |\n|---|---|\n| ${n} | c |\n`
    parts.push(part)
    length += part.length
  }
  return parts.join('')
}

/** Types in the middle of the document; returns the delays in milliseconds. */
async function measure(page, selector) {
  await page.evaluate(() => {
    window.delays = []
    document.addEventListener(
      'beforeinput',
      ({ timeStamp }) => {
        requestAnimationFrame(() => {
          const channel = new MessageChannel()
          channel.port1.onmessage = () => window.delays.push(performance.now() - timeStamp)
          channel.port2.postMessage(null)
        })
      },
      true,
    )
  })
  await page.locator(selector).click()
  for (let n = 0; n < N_KEYS; n++) {
    await page.keyboard.press(n % 10 === 9 ? 'Space' : 'x')
    // The next key comes when this one is on screen: keys that wait for each other would add up.
    await page.waitForFunction((n) => window.delays.length > n, n)
  }
  const delays = (await page.evaluate(() => window.delays)).sort((a, b) => a - b)
  const at = (share) => delays[Math.floor(delays.length * share)].toFixed(1)
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, max ${at(0.999)} ms`
}

/** Switches marks of changed lines on. */
async function markChanges(page) {
  await page.evaluate(() => {
    const isMarks = ({ id }) => id === 'changed-lines'
    window.harness.handle.actions().find(isMarks).run()
  })
  await page.locator('.change-gutter').waitFor()
}

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'long.md'), markdown(200_000))
    writeFileSync(join(directory, 'long.txt'), markdown(200_000))
    writeFileSync(join(directory, 'long.ts'), CODE.repeat(1_000_000 / CODE.length))
  },
  async (stage) => {
    for (const [path, editor, selector] of [
      ['/long.md', 'richtext', '.ProseMirror h2:nth-of-type(3) + p'],
      ['/long.txt', 'text', '.cm-line:nth-child(8)'],
      ['/long.ts', 'text', '.cm-line:nth-child(8)'],
    ]) {
      const page = await stage.open(path)
      await shows(page, editor)
      await page.waitForSelector(selector)
      if (path === '/long.ts') await markChanges(page)
      const figures = await measure(page, selector)
      await saved(page)
      const count = [...(await stage.yfs('cat', path))].filter((letter) => letter === 'x').length
      if (count < N_KEYS * 0.9) throw new Error(`${path}: only ${count} letters arrived`)
      console.log(`${path}: ${figures}`)
    }
  },
)
