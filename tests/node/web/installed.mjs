// The application as a browser installs it: the manifest has what an installation needs, an
// installed window starts without its link, and an upgrade of the server is seen at the next visit
// and stays when the server is away.

import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { assertEqual, scenario, until } from './one_file.mjs'

/** What the names of a build's files have instead of the hash of the entry, after the upgrade. */
const NEXT = 'upgraded'

/** Passes everything on to a server. After `upgrade`, the page is of another build. */
async function passOn(target) {
  const { port: targetPort } = new URL(target)
  let hash = null
  let isUpgraded = false
  const sockets = new Set()
  const server = createServer((asked, response) => {
    const url = asked.url.replaceAll(`index-${NEXT}.`, `index-${hash}.`)
    // The bodies that are rewritten must not be compressed.
    const { 'accept-encoding': _, ...headers } = asked.headers
    const options = { port: targetPort, path: url, method: asked.method, headers }
    const passed = request(options, (answer) => {
      const isPage = ['/', '/sw.js'].includes(asked.url)
      if (!isPage) {
        response.writeHead(answer.statusCode, answer.headers)
        answer.pipe(response)
        return
      }
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('end', () => {
        let text = String(Buffer.concat(parts))
        hash ??= /index-([\w-]{8})\.js/.exec(text)?.[1] ?? null
        if (isUpgraded) {
          text = text.replaceAll(`index-${hash}.js`, `index-${NEXT}.js`)
          text = text.replace(/"version":\s*"/, '$&next-')
        }
        const { 'content-length': _, etag: __, ...headers } = answer.headers
        response.writeHead(answer.statusCode, headers).end(text)
      })
    })
    passed.on('error', () => response.destroy())
    asked.pipe(passed)
  })
  server.on('upgrade', (asked, socket, head) => {
    const there = connect(targetPort, '127.0.0.1', () => {
      const lines = [`${asked.method} ${asked.url} HTTP/1.1`]
      for (let n = 0; n < asked.rawHeaders.length; n += 2) {
        lines.push(`${asked.rawHeaders[n]}: ${asked.rawHeaders[n + 1]}`)
      }
      there.write(`${lines.join('\r\n')}\r\n\r\n`)
      there.write(head)
      socket.pipe(there).pipe(socket)
    })
    for (const end of [socket, there])
      end.on('error', () => [socket, there].map((s) => s.destroy()))
  })
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    upgrade: () => (isUpgraded = true),
    stop: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const firstRow = (page) => page.waitForSelector('[role="treeitem"]', { timeout: 120_000 })

const entryOf = (page) => page.evaluate(() => document.querySelector('script[type=module]').src)

/** Waits for an active worker that has the page of a build. */
const kept = (page, build) =>
  until(
    () =>
      page.evaluate(async (build) => {
        const { active, waiting, installing } = await navigator.serviceWorker.ready
        if (waiting || installing || active.state !== 'activated') return false
        const pages = []
        for (const name of await window.caches.keys()) {
          pages.push(await (await (await window.caches.open(name)).match('/'))?.text())
        }
        return pages.some((text) => text?.includes(build))
      }, build),
    `a worker with ${build}`,
  )

/** Opens a window that says that it is one of an installed application. */
async function installedWindow(context) {
  const page = await context.newPage()
  // A private window installs nothing, and cannot be made to say so otherwise.
  await page.addInitScript(() => {
    const { matchMedia } = window
    window.matchMedia = (query) =>
      query === '(display-mode: standalone)' ? { matches: true } : matchMedia.call(window, query)
  })
  return page
}

await scenario(
  ({ directory }) => writeFileSync(join(directory, 'plan.md'), '# Plan\n'),
  async (stage) => {
    const proxy = await passOn(stage.server.url)
    const context = await stage.browser.newContext()
    const link = `${proxy.url}/#token=${stage.server.token}`
    const page = await context.newPage()
    await page.goto(link)
    await firstRow(page)
    await kept(page, 'index-')

    const session = await context.newCDPSession(page)
    const { errors, data } = await session.send('Page.getAppManifest')
    assertEqual(errors, [], 'the errors of the manifest')
    assertEqual(JSON.parse(data).display, 'standalone', 'how the application is shown')
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors')
    const reasons = installabilityErrors.map(({ errorId }) => errorId)
    // The contexts of tests are private windows, in which nothing is installed.
    assertEqual(
      reasons.filter((reason) => reason !== 'in-incognito'),
      [],
      'why it cannot be installed',
    )

    // Without a tab that has the token, a tab has none; the window of the installed application
    // keeps it.
    await page.close()
    const tab = await context.newPage()
    await tab.goto(proxy.url)
    await tab.getByText('link', { exact: false }).first().waitFor()
    assertEqual(await tab.locator('[role="treeitem"]').count(), 0, 'rows without a token')
    const window = await installedWindow(context)
    await window.goto(link)
    await firstRow(window)
    const again = await installedWindow(context)
    await again.goto(proxy.url)
    await firstRow(again)

    const before = await entryOf(again)
    proxy.upgrade()
    await again.reload()
    await firstRow(again)
    const after = await entryOf(again)
    if (before === after || !after.includes(NEXT)) throw new Error(`the page is ${after}`)
    await kept(again, NEXT)
    proxy.stop()
    await again.reload()
    await firstRow(again)
    assertEqual(await entryOf(again), after, 'the page without a server')
  },
)
