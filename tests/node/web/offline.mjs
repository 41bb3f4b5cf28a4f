// The application without its server: two people go on in files that they opened before; one
// reloads the page and finds the tree and the text; names are refused and kept. When the server is
// back, all texts are one. Another workspace at the same address never gets what belongs to the
// first.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertEqual, saved, savedState, scenario, shows, textOf, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

/** Opens the application in a browser of its own. */
async function enter(stage, errors) {
  const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
  const page = await context.newPage()
  page.on('pageerror', ({ stack }) => errors.push(stack))
  await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
  await row(page, '/notes').waitFor()
  return page
}

/** Waits until the page opens without the server. */
const workerIsActive = (page) =>
  page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready
    if (active.state !== 'activated') {
      await new Promise((resolve) => active.addEventListener('statechange', resolve))
    }
  })

async function openFile(page, path, editor) {
  await row(page, path).click()
  await shows(page, editor)
}

/** Notes all states that the page shows from now on. */
const watchStates = (page) =>
  page.evaluate(() => {
    window.states = []
    const note = () => {
      const state = document.querySelector('.saved-state')?.dataset.state
      if (state !== undefined && window.states.at(-1) !== state) window.states.push(state)
    }
    note()
    const all = { subtree: true, childList: true, attributes: true }
    new MutationObserver(note).observe(document.body, all)
  })

const statesOf = (page) => page.evaluate(() => window.states)

const caretTo = async (page, key) => {
  await page.locator('.cm-content, .ProseMirror').click()
  await page.keyboard.press(`Control+${key}`)
}

async function refusedName(page, button, name) {
  await page.getByRole('button', { name: button }).click()
  await page.waitForSelector('.tree-input')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
  await page.getByText('only it can create, rename, move or remove files').waitFor()
  assertEqual(await page.inputValue('.tree-input'), name, 'the name that was typed')
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'notes'))
    writeFileSync(join(directory, 'notes/plan.md'), '# Plan\n\nListen.\n')
    writeFileSync(join(directory, 'log.txt'), 'first line\nmiddle line\nlast line\n')
    writeFileSync(join(directory, 'never.txt'), 'never opened\n')
    writeFileSync(join(directory, 'empty.txt'), '')
  },
  async (stage) => {
    const ana = await enter(stage, stage.errors)
    const ben = await enter(stage, stage.errors)
    await row(ana, '/notes').click()
    await openFile(ana, '/notes/plan.md', 'richtext')
    await saved(ana)
    await openFile(ana, '/empty.txt', 'text')
    await saved(ana)
    for (const page of [ana, ben]) {
      await openFile(page, '/log.txt', 'text')
      await saved(page)
      await workerIsActive(page)
    }

    // The server goes. Both type, at the two ends of the file.
    const start = await stage.stopServer()
    for (const page of [ana, ben]) {
      await page.getByText('No connection to the server').waitFor()
      await until(async () => (await savedState(page)) === 'offline', 'the state without a server')
      await watchStates(page)
    }
    await caretTo(ana, 'Home')
    await ana.keyboard.type('Ana was here. ')
    await caretTo(ben, 'End')
    await ben.keyboard.type('Ben was here.')
    for (const page of [ana, ben]) {
      await until(async () => (await savedState(page)) === 'waiting', 'the state with changes')
    }

    // Ana reloads: the tree, the file and what was typed are there.
    const seen = await statesOf(ana)
    await ana.reload()
    await row(ana, '/log.txt').waitFor()
    await watchStates(ana)
    await shows(ana, 'text')
    await until(async () => (await textOf(ana)).includes('Ana was here. first line'), 'the text')
    await ana.getByText('No connection to the server').waitFor()
    await row(ana, '/notes').click()
    await openFile(ana, '/notes/plan.md', 'richtext')
    await until(async () => (await textOf(ana)).includes('Listen.'), 'the markdown file')
    await ana.click('.ProseMirror p')
    await ana.keyboard.press('End')
    await ana.keyboard.type(' And write.')
    await until(async () => (await savedState(ana)) === 'waiting', 'the state with changes')
    await openFile(ana, '/empty.txt', 'text')
    await row(ana, '/never.txt').click()
    await ana.getByText('This file was not opened in this browser before').waitFor()

    // Names need the server: what was typed stays, and is sent when it is back.
    await row(ana, '/log.txt').click()
    await shows(ana, 'text')
    await refusedName(ana, 'New file', 'draft.txt')
    await ana.keyboard.press('Escape')
    await row(ana, '/log.txt').click()
    await ana.locator('[role="tree"]').focus()
    await ana.keyboard.press('F2')
    await ana.waitForSelector('.tree-input')
    await ana.keyboard.press('Control+A')
    await ana.keyboard.type('diary.txt')
    await ana.keyboard.press('Enter')
    await ana.getByText('only it can create, rename, move or remove files').waitFor()
    assertEqual(await ana.inputValue('.tree-input'), 'diary.txt', 'the new name')
    await ana.keyboard.press('Escape')
    await row(ana, '/log.txt').waitFor()
    await refusedName(ben, 'New folder', 'later')
    const states = [...seen, ...(await statesOf(ana)), ...(await statesOf(ben))]
    assertEqual(states.includes('saved'), false, `"saved" without a server: ${states}`)

    // The server is back: everything arrives, in both browsers and in the workspace.
    await start()
    const whole = 'Ana was here. first line\nmiddle line\nlast line\nBen was here.'
    await until(async () => (await stage.yfs('cat', '/log.txt')) === whole, 'the text of both')
    await until(
      async () => (await stage.yfs('cat', '/notes/plan.md')) === '# Plan\n\nListen. And write.\n',
      'the markdown file',
    )
    for (const page of [ana, ben]) {
      await saved(page)
      await until(async () => (await textOf(page)).includes('Ben was here.'), 'what Ben typed')
      await until(async () => (await textOf(page)).includes('Ana was here.'), 'what Ana typed')
      await page.getByText('No connection to the server').waitFor({ state: 'detached' })
    }
    await ben.getByText('only it can create').waitFor({ state: 'detached' })
    assertEqual(await ben.inputValue('.tree-input'), 'later', 'the name that waited')
    await ben.locator('.tree-input').press('Enter')
    await row(ana, '/later').waitFor()
    await ben.waitForSelector('.tree-input', { state: 'detached' })

    // Other workspaces are served at the same address: one without tokens, and one with its own.
    const restart = await stage.stopServer()
    await until(async () => (await savedState(ana)) === 'offline', 'the state without a server')
    await caretTo(ana, 'End')
    await ana.keyboard.type(' For the first only.')
    await until(async () => (await savedState(ana)) === 'waiting', 'the state with changes')
    await watchStates(ana)
    const first = stage.server
    const { port } = new URL(first.url)
    for (const [options, notice] of [
      [['--open'], 'Another workspace is at this address now'],
      [[], 'The server refuses this page'],
    ]) {
      const other = mkdtempSync(join(tmpdir(), 'web-editor-other-'))
      writeFileSync(join(other, 'other.txt'), 'of the other workspace\n')
      stage.server = await stage.startServer(other, port, ...options)
      await ana.getByText(notice).waitFor()
      const visitor = await ana.context().newPage()
      const { url, token } = stage.server
      await visitor.goto(options.length > 0 ? url : `${url}/#token=${token}`)
      await row(visitor, '/other.txt').waitFor()
      assertEqual(await row(visitor, '/log.txt').count(), 0, 'no file of the first workspace')
      await visitor.close()
      assertEqual(await row(ana, '/log.txt').count(), 1, 'the tree of the first workspace')
      await stage.server.stop()
      rmSync(other, { recursive: true, force: true })
    }
    assertEqual((await statesOf(ana)).includes('saved'), false, '"saved" at another server')
    // Each token opens its own workspace, also while nothing is served there.
    await ana.reload()
    await row(ana, '/log.txt').waitFor()
    assertEqual(await row(ana, '/other.txt').count(), 0, 'no file of the other workspace')
    const stranger = await ana.context().newPage()
    await stranger.goto(`${first.url}/#token=none`)
    await stranger.getByText('The server does not answer').waitFor()
    assertEqual(await stranger.locator('[role="treeitem"]').count(), 0, 'nothing without a token')
    await stranger.close()
    await restart()
    await saved(ana)
    assertEqual(await stage.yfs('cat', '/log.txt'), `${whole} For the first only.`, 'the file')
  },
)
