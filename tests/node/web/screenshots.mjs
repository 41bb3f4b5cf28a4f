// Pictures of the states of the application on the handbook of the fixtures: light, dark, and on a
// phone. Two runs on one machine give the same pixels: times, names and carets stand still. What
// differs from the picture of the last run is listed with the number of its pixels, and written.
//
// Arguments: the directory of the pictures, the one of the fixtures, and perhaps states or
// pictures. With `--compare`, nothing is written, and the exit code is 1 if a picture differs.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scenario } from './one_file.mjs'
import { enterStates, prepareStates, showState, STATES, watchConnection } from './states.mjs'

const options = process.argv.slice(2)
const comparesOnly = options.includes('--compare')
const [images, fixtures, ...wanted] = options.filter((option) => !option.startsWith('--'))
const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1080, height: 660 } },
  dark: { colorScheme: 'dark', viewport: { width: 1080, height: 660 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 780 }, hasTouch: true },
}
const QUALITY = 20
/** Pixels of a picture for each of the page, so that a picture stays small. */
const SCALE = 0.6
/** The most bytes of one picture, and of all. */
const [MAX_BYTES, MAX_TOTAL] = [15_000, 1_500_000]
/**
 * A pixel differs if a channel does by more than this, of 255: less is antialiasing, and what the
 * compression makes of it.
 */
const VISIBLE = 64
/** So many pixels may differ in pictures that are the same. */
const SAME = 20
/** The time that the pages have. */
const NOW = Date.UTC(2026, 10, 20, 15, 0)
const [MINUTE, DAY] = [60_000, 86_400_000]
/** How long lies between two entries of a list. */
const STEP = 17 * MINUTE

/** What stands still beside the animations: a caret blinks, and the name at one goes. */
const STILL = `
  .caret-label { animation: none !important; }
  .cm-cursorLayer { animation: none !important; opacity: 0 !important; }
`

/**
 * Puts fixed times into an answer of the server. Lists have the latest entry first, or last: the
 * order stays.
 */
function fixTimes(value, isLater, nth = 0) {
  if (Array.isArray(value)) {
    const times = value.map((entry) => entry?.at).filter(Number.isFinite)
    const isRising = times.length > 1 && times[0] < times.at(-1)
    return value.map((entry, n) => fixTimes(entry, isLater, isRising ? value.length - 1 - n : n))
  }
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
    return Object.fromEntries(entries.map(([key, each]) => [key, fixTimes(each, isLater, nth)]))
  }
  const isTime = typeof value === 'number' && value > 1.5e12 && value < 3e12
  if (!isTime) return value
  return isLater(value) ? NOW + 7 * DAY : NOW - (nth + 1) * STEP
}

async function freeze(context) {
  await context.addInitScript((now) => {
    const RealDate = Date
    globalThis.Date = class extends RealDate {
      constructor(...args) {
        super(...(args.length === 0 ? [now] : args))
      }
      static now = () => now
    }
  }, NOW)
  await context.route(/\/api\/(log|versions|trash|tokens|links|blame)/, async (route) => {
    const url = new URL(route.request().url())
    const limit = Number(url.searchParams.get('limit') ?? Infinity)
    // Files that were imported at once have no order.
    if (url.pathname === '/api/log') url.searchParams.set('limit', '1000')
    const response = await route.fetch({ url: url.href })
    const isJson = response.headers()['content-type']?.includes('json')
    if (!response.ok() || !isJson) return route.fulfill({ response })
    const json = await response.json()
    if (url.pathname === '/api/log') json.entries = orderImports(json.entries).slice(0, limit)
    const isLater = (time) => time > Date.now() + DAY / 2
    await route.fulfill({ response, json: fixTimes(json, isLater) })
  })
}

/** Puts what was imported at once behind the rest, in the order of the paths. */
function orderImports(entries) {
  const isImport = ({ label }) => label?.startsWith('import ')
  const imports = entries.filter(isImport).sort((a, b) => (a.path < b.path ? -1 : 1))
  return [...entries.filter((entry) => !isImport(entry)), ...imports]
}

/** Counts in the page how many pixels of two pictures differ. */
function countDiffering(page, pictures) {
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
      if (a.width !== b.width || a.height !== b.height) return a.width * a.height
      let differing = 0
      for (let at = 0; at < a.data.length; at += 4) {
        const channels = [0, 1, 2].map((n) => Math.abs(a.data[at + n] - b.data[at + n]))
        if (Math.max(...channels) > visible) differing += 1
      }
      return differing
    },
    [encoded, VISIBLE],
  )
}

/** Takes a picture of a page once two in a row are the same. */
async function takePicture(page) {
  await page.addStyleTag({ content: STILL })
  // Those who were here before are gone, this page under its last address too.
  await page.waitForFunction(() => {
    const self = document.querySelector('.editor-people [title="Ana"]')
    return self === null && document.querySelectorAll('.people .avatar').length <= 1
  })
  await page.mouse.move(0, 0)
  await page.evaluate(() => document.fonts.ready)
  const take = () => {
    return page.screenshot({
      type: 'webp',
      quality: QUALITY,
      caret: 'hide',
      animations: 'disabled',
      scale: 'device',
    })
  }
  let last = await take()
  for (let n = 0; n < 20; n++) {
    const next = await take()
    if (next.equals(last)) return next
    last = next
  }
  throw new Error('it does not come to rest')
}

/** Returns what is said of a picture, or null if it is the one of the last run. */
async function compare(page, picture, path) {
  if (!existsSync(path)) return 'new'
  const last = readFileSync(path)
  if (last.equals(picture)) return null
  const n = await countDiffering(page, [last, picture])
  return n <= SAME ? null : `${n} pixels differ`
}

/** Takes the pictures of one look; returns the lengths of them, and how many differ. */
async function takeLook(stage, look) {
  const isWanted = (name) => wanted.some((one) => one === name || one === `${name}-${look}`)
  const names = Object.keys(STATES).filter((name) => wanted.length === 0 || isWanted(name))
  const context = await stage.browser.newContext({
    ...LOOKS[look],
    deviceScaleFactor: SCALE,
    bypassCSP: true,
    locale: 'en-US',
    timezoneId: 'UTC',
  })
  await freeze(context)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  page.on('pageerror', ({ stack }) => stage.errors.push(stack))
  await watchConnection(page)
  await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
  await page.waitForSelector('.document-head')
  const sums = { nDiffering: 0, nBytes: 0, nFailed: 0, n: names.length }
  for (const name of names) {
    try {
      // The files that were opened last are those of the state, whichever states are asked for.
      await page.evaluate(() => localStorage.clear())
      await showState(stage, page, name)
      const picture = await takePicture(page)
      const path = join(images, `${name}-${look}.webp`)
      const difference = await compare(page, picture, path)
      sums.nBytes += picture.length
      if (picture.length > MAX_BYTES) console.log(`${name}-${look}: ${picture.length} bytes`)
      if (difference === null) continue
      sums.nDiffering += 1
      if (!comparesOnly) writeFileSync(path, picture)
      console.log(`${name}-${look}: ${difference}`)
    } catch (error) {
      console.error(`${name}, ${look}: ${error.message.split('\n')[0]}`)
      sums.nFailed += 1
    }
  }
  await context.close()
  return sums
}

/** Removes pictures of states that are no more. */
function removeOthers() {
  const isShown = (file) => file.replace(/-(light|dark|phone)\.webp$/, '') in STATES
  for (const file of readdirSync(images)) if (!isShown(file)) rmSync(join(images, file))
}

await scenario(
  (stage) => prepareStates(stage, fixtures),
  async (stage) => {
    mkdirSync(images, { recursive: true })
    await enterStates(stage)
    const all = []
    for (const look of Object.keys(LOOKS)) all.push(await takeLook(stage, look))
    const sum = (key) => all.reduce((sum, one) => sum + one[key], 0)
    if (!comparesOnly && wanted.length === 0) removeOthers()
    console.log(`${sum('nDiffering')} of ${sum('n')} pictures differ; ${sum('nBytes')} bytes`)
    if (sum('nBytes') > MAX_TOTAL) throw new Error(`more than ${MAX_TOTAL} bytes`)
    if (sum('nFailed') > 0) throw new Error(`${sum('nFailed')} states are not reached`)
    if (comparesOnly && sum('nDiffering') > 0) throw new Error('pictures differ')
  },
)
