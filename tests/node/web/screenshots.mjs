// Pictures of the states of the application on the handbook of the fixtures: light, dark, and on a
// phone. A picture is written only if it differs from the last one in more than a few pixels, so
// that the history of the repository stays small; what differs is listed.
//
// Arguments: the directory of the pictures, the one of the fixtures, and perhaps the states.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scenario } from './one_file.mjs'
import { enterStates, prepareStates, showState, STATES } from './states.mjs'

const [images, fixtures, ...wanted] = process.argv.slice(2)
const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1080, height: 700 } },
  dark: { colorScheme: 'dark', viewport: { width: 1080, height: 700 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 800 }, hasTouch: true },
}
const QUALITY = 40
/** Two pictures are the same if at most this share of their pixels differs. */
const SAME = 0.002
/** A pixel differs if a channel does by more than this, of 255. */
const VISIBLE = 24

/** Counts in the page which share of the pixels of two pictures differs. */
function differingShare(page, pictures) {
  const encoded = pictures.map((bytes) => bytes.toString('base64'))
  return page.evaluate(
    async ([encoded, visible]) => {
      const [a, b] = await Promise.all(
        encoded.map(async (text) => {
          const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
          const image = await createImageBitmap(new Blob([bytes], { type: 'image/webp' }))
          const canvas = new OffscreenCanvas(image.width, image.height)
          const context = canvas.getContext('2d')
          context.drawImage(image, 0, 0)
          return context.getImageData(0, 0, image.width, image.height)
        }),
      )
      if (a.width !== b.width || a.height !== b.height) return 1
      let differing = 0
      for (let at = 0; at < a.data.length; at += 4) {
        const channels = [0, 1, 2].map((n) => Math.abs(a.data[at + n] - b.data[at + n]))
        if (Math.max(...channels) > visible) differing += 1
      }
      return (differing * 4) / a.data.length
    },
    [encoded, VISIBLE],
  )
}

async function settle(page) {
  await page.evaluate(() => document.fonts.ready)
  await page.evaluate(() => {
    const ends = document.getAnimations().filter(({ effect }) => {
      return effect.getComputedTiming().endTime !== Infinity
    })
    return Promise.all(ends.map((one) => one.finished))
  })
}

await scenario(
  (stage) => prepareStates(stage, fixtures),
  async (stage) => {
    mkdirSync(images, { recursive: true })
    await enterStates(stage)
    const names = Object.keys(STATES).filter((name) => wanted.length === 0 || wanted.includes(name))
    let nWritten = 0
    for (const [look, options] of Object.entries(LOOKS)) {
      const context = await stage.browser.newContext(options)
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
      await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
      await page.waitForSelector('.document-head')
      for (const name of names) {
        try {
          await showState(stage, page, name)
          await settle(page)
        } catch (error) {
          console.error(`${name}, ${look}: ${error.message.split('\n')[0]}`)
          process.exitCode = 1
          continue
        }
        const picture = await page.screenshot({ type: 'webp', quality: QUALITY, caret: 'hide' })
        const path = join(images, `${name}-${look}.webp`)
        const last = existsSync(path) ? readFileSync(path) : null
        const share = last === null ? 1 : await differingShare(page, [last, picture])
        if (share <= SAME) continue
        nWritten += 1
        writeFileSync(path, picture)
        const what = last === null ? 'new' : `${(share * 100).toFixed(1)} % differs`
        console.log(`${name}-${look}: ${what}, ${picture.length} bytes`)
      }
      await context.close()
    }
    console.log(`${nWritten} of ${names.length * Object.keys(LOOKS).length} pictures are new`)
  },
)
