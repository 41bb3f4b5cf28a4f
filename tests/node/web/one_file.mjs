// What the scenarios of the editors share: a server with a directory, browsers, and the page that
// shows one file (`crates/doors/yfs-web/app/harness`).
//
// With YFS_BROWSER=firefox, scenarios are played in the Firefox of the PATH by WebDriver BiDi, else
// in Chromium. Environment: YFS_COMMAND is the program, HARNESS_PAGE the directory of the page that
// shows one file. With APPLICATION_PAGE, a directory that Vite built, the application comes from
// there and not out of the program, so that a change of it needs no build of the program; its
// service worker is left out.

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

// `import` reads a package of CommonJS twice for its names, which takes 0.35 s for these.
const load = createRequire(import.meta.url)
const { YFS_COMMAND, HARNESS_PAGE, APPLICATION_PAGE, YFS_BROWSER } = process.env
export const isFirefox = YFS_BROWSER === 'firefox'
const DEADLINE_MS = Number(process.env.DEADLINE ?? 120_000)
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** Polls a condition up to a deadline; returns its value. */
export async function until(condition, what) {
  const deadline = performance.now() + DEADLINE_MS
  let last
  for (;;) {
    last = await Promise.resolve()
      .then(condition)
      .catch((error) => ((last = error), false))
    if (last) return last
    if (performance.now() > deadline) {
      throw new Error(`waited too long for ${what}`, { cause: last })
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function assertEqual(actual, expected, what) {
  if (JSON.stringify(actual) === JSON.stringify(expected)) return
  const [is, should] = [actual, expected].map((value) => JSON.stringify(value))
  throw new Error(`${what}: ${is}, expected ${should}`)
}

/** Returns the path of the first of some programs that is on the PATH. */
function installed(...names) {
  const directories = (process.env.PATH ?? '').split(delimiter)
  const paths = directories.flatMap((directory) => names.map((name) => join(directory, name)))
  return paths.find((path) => existsSync(path))
}

const CHROMIUMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Starts a browser. Chromium itself ended with SIGSEGV once of some hundred starts. */
async function start(executablePath, nTries = 3) {
  try {
    const { chromium } = load('playwright-core')
    const timeout = DEADLINE_MS
    return await chromium.launch({ executablePath, timeout, args: ['--no-sandbox'] })
  } catch (error) {
    if (nTries === 1) throw error
    console.error(`Chromium is started again: ${error.message.split('\n')[0]}`)
    return start(executablePath, nTries - 1)
  }
}

/**
 * Starts the Firefox of the PATH. Later versions of the driver need what the one with extended
 * support (140) does not have yet.
 */
async function startFirefox() {
  const executablePath = installed('firefox-esr', 'firefox')
  if (executablePath === undefined) throw new Error('there is no Firefox on the PATH')
  const { _bidiFirefox } = load('playwright-bidi')
  // Without it, a person is asked before a page reads the clipboard.
  const firefoxUserPrefs = { 'dom.events.testing.asyncClipboard': true }
  return _bidiFirefox.launch({ executablePath, firefoxUserPrefs, timeout: DEADLINE_MS })
}

async function startChromium() {
  const path = installed(...CHROMIUMS)
  if (path !== undefined) return start(path)
  const { default: packaged } = await import('@sparticuz/chromium')
  return start(await packaged.executablePath())
}

/** Answers requests for the application with the files of a directory. */
async function routeApplication(context, directory) {
  const pageOf = ({ pathname }) => (pathname === '/' ? '/index.html' : pathname)
  const isPage = (url) => url.port !== '' && existsSync(join(directory, pageOf(url)))
  await context.route(isPage, async (route) => {
    const url = new URL(route.request().url())
    // The page of one file has a server of its own.
    if (route.request().method() !== 'GET' || url.search !== '') return route.continue()
    const path = join(directory, pageOf(url))
    await route.fulfill({ path, contentType: TYPES[extname(path)] ?? 'application/octet-stream' })
  })
}

/**
 * Gives the pages of a Firefox what the driver gives those of Chromium: each window has the focus,
 * errors are reported, and no policy forbids `eval`, by which the driver works.
 */
async function completeFirefox(context) {
  const mark = 'uncaught in the page: '
  await context.addInitScript((mark) => {
    document.hasFocus = () => true
    const report = (error) => console.error(mark + (error?.stack ?? error))
    addEventListener('error', ({ error }) => error && report(error))
    addEventListener('unhandledrejection', ({ reason }) => report(reason))
  }, mark)
  context.on('console', (message) => {
    if (!message.text().startsWith(mark)) return
    message.page().emit('pageerror', { stack: message.text().slice(mark.length) })
  })
  if (APPLICATION_PAGE) return
  const isApplication = ({ pathname, search }) => pathname === '/' && search === ''
  await context.route(isApplication, async (route) => {
    const response = await route.fetch()
    await route.fulfill({ contentType: TYPES['.html'], body: await response.body() })
  })
}

/** Starts the Chromium of the PATH, else that of the npm package; or Firefox. */
export async function launch() {
  const browser = await (isFirefox ? startFirefox() : startChromium())
  const { newContext } = browser
  // The machine may be busy.
  browser.newContext = async (options) => {
    const workers = APPLICATION_PAGE || isFirefox ? { serviceWorkers: 'block' } : {}
    const context = await newContext.call(browser, { ...workers, ...options })
    context.setDefaultTimeout(DEADLINE_MS)
    if (APPLICATION_PAGE) {
      await routeApplication(context, APPLICATION_PAGE)
      // A page that was answered here has no address, and the server has a local one.
      await context.grantPermissions(['local-network-access'])
    }
    if (isFirefox) await completeFirefox(context)
    return context
  }
  return browser
}

async function servePage() {
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, 'http://localhost')
    const path = join(HARNESS_PAGE, pathname === '/' ? 'index.html' : pathname)
    if (!existsSync(path)) return response.writeHead(404).end()
    const type = TYPES[extname(path)] ?? 'application/octet-stream'
    response.writeHead(200, { 'Content-Type': type }).end(readFileSync(path))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() }
}

/**
 * Returns a free port that no other program gets by chance while the server is stopped: it is below
 * those that systems choose themselves.
 */
async function freePort() {
  for (let port = 20_000 + (process.pid % 10_000); ; port += 1) {
    const probe = createServer()
    const isFree = await new Promise((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise((resolve) => probe.close(resolve))
    if (isFree) return port
  }
}

async function startServer(directory, port, ...more) {
  const args = ['serve', directory, '--port', String(port), '--json', ...more]
  const child = spawn(YFS_COMMAND, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value: line } = await lines.next()
  if (line === undefined) throw new Error('yfs serve ended')
  const { url, token } = JSON.parse(line)
  const stop = async () => {
    if (child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGINT')
    await ended
  }
  const signal = (name) => child.kill(name)
  return { url: url.replace(/\/$/, ''), token, stop, signal }
}

/** Starts the server, the page and the browser at once, and adds how each is stopped. */
async function startParts(stage, closers) {
  const port = await freePort()
  const parts = [
    startServer(stage.directory, port, ...stage.serveWith).then((server) => {
      stage.server = server
      closers.push(() => stage.server.stop())
    }),
    servePage().then((page) => {
      stage.page = page
      closers.push(() => stage.page.stop())
    }),
    launch().then((browser) => {
      stage.browser = browser
      closers.push(() => stage.browser.close())
    }),
  ]
  const results = await Promise.allSettled(parts)
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** Runs a scenario on a new directory, and ends the process with its result. */
export async function scenario(prepare, play) {
  const directory = mkdtempSync(join(tmpdir(), 'web-editor-'))
  const closers = []
  const errors = []
  const stage = {
    directory,
    program: YFS_COMMAND,
    /** More arguments of `yfs serve`. */
    serveWith: [],
    errors,
    async yfs(...args) {
      return (await promisify(execFile)(YFS_COMMAND, args, { cwd: directory })).stdout
    },
    /** Opens a browser window of its own on a file. */
    async open(path, { name = 'Ana', width = 1200, height = 800, ...more } = {}) {
      const context = await stage.browser.newContext({ viewport: { width, height } })
      stage.lastContext = context
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => errors.push(`${name}: ${stack}`))
      const query = new URLSearchParams({ server: stage.server.url, token: stage.server.token })
      for (const [key, value] of Object.entries({ name, ...more })) query.set(key, value)
      if (path !== null) query.set('path', path)
      await page.goto(`${stage.page.url}?${query}`)
      await page.waitForFunction(() => window.harness !== undefined)
      return page
    },
    /** Stops the server, and starts it again on its port when the returned function is called. */
    async stopServer() {
      const { port } = new URL(stage.server.url)
      await stage.server.stop()
      return async () => {
        stage.server = await startServer(directory, port)
      }
    },
    startServer,
    async fetch(path, init = {}) {
      const headers = { Authorization: `Bearer ${stage.server.token}`, ...init.headers }
      return fetch(`${stage.server.url}${path}`, { ...init, headers })
    },
  }
  let failure = null
  try {
    await prepare(stage)
    await startParts(stage, closers)
    await play(stage)
    if (errors.length > 0) throw new Error(`errors in the page:\n${errors.join('\n')}`)
  } catch (error) {
    failure = error
    for (const line of errors) console.error(line)
  }
  await Promise.all(closers.map((close) => close()))
  rmSync(directory, { recursive: true, force: true })
  if (failure !== null) console.error(failure)
  process.exit(failure === null ? 0 : 1)
}

/** Waits for the editor of a page: text, richtext, blob, source or blame. */
export const shows = (page, editor) =>
  page.waitForSelector(`[data-editor="${editor}"]`, { state: 'attached', timeout: DEADLINE_MS })

/** Returns the address of a page; `page.url()` of Firefox misses steps within a page. */
export const addressOf = async (page) => new URL(await page.evaluate(() => location.href))

export const savedState = (page) => page.getAttribute('.saved-state', 'data-state')

/** Waits until the server has stored all changes of a page. */
export const saved = (page) =>
  page.waitForSelector('.saved-state[data-state="saved"]', { timeout: DEADLINE_MS })

export const textOf = (page) =>
  page.evaluate(() => document.querySelector('.ProseMirror, .cm-content')?.innerText ?? null)

/** Goes to another address of the same page, as a link does. */
export const follow = (page, address) =>
  page.evaluate((address) => location.assign(address), address)

/** Touches an element; in Firefox, where the driver has no finger, clicks it. */
export const tap = (locator) => (isFirefox ? locator.click() : locator.tap())

/** Lets the pages of a context read and write the clipboard; those of Firefox may. */
export async function allowClipboard(context) {
  if (!isFirefox) await context.grantPermissions(['clipboard-read', 'clipboard-write'])
}

/**
 * Pastes texts by their types, and files, into the rich text. Firefox leaves out the data of an
 * event that a page makes, so it is added later.
 */
export const paste = (page, types, files = []) =>
  page.evaluate(
    ([types, files]) => {
      const data = new DataTransfer()
      for (const [type, text] of Object.entries(types)) data.setData(type, text)
      for (const { name, type, bytes } of files) {
        data.items.add(new File([Uint8Array.from(bytes)], name, { type }))
      }
      const event = new ClipboardEvent('paste', { bubbles: true, cancelable: true })
      Object.defineProperty(event, 'clipboardData', { value: data })
      document.querySelector('.ProseMirror').dispatchEvent(event)
    },
    [types, files],
  )

/** Opens files in the page that shows one file, and reads them when they are stored. */
export const filesOf = (stage, page) => ({
  async open(path, editor = 'richtext') {
    await page.evaluate((path) => window.harness.open(path), path)
    await shows(page, editor)
  },
  async stored(path) {
    await saved(page)
    return stage.yfs('cat', path)
  },
})
