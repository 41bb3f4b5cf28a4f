// Links for others: made and revoked in the page. A link for a directory opens the page there, and
// gives nothing of the rest: no name, no id, no change, no person, whatever is asked for.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { assertEqual, saved, scenario, shows, textOf, until } from './one_file.mjs'

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

async function command(page, name) {
  await page.keyboard.press('F1')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
}

/** Makes a link in the panel that is open; returns its address. */
async function makeLink(page, { path, rights, name = '', expires = 'week' }) {
  const panel = page.getByRole('dialog', { name: 'Share' })
  await panel.getByLabel('What').selectOption(path)
  await panel.getByLabel('May').selectOption(rights)
  await panel.getByLabel('Ends').selectOption(expires)
  await panel.getByLabel('For (name)').fill(name)
  const link = panel.getByLabel('Link', { exact: true })
  const before = (await link.count()) > 0 ? await link.inputValue() : ''
  await panel.getByRole('button', { name: 'Make a link' }).click()
  return until(async () => {
    const address = await link.inputValue()
    return address !== before && address
  }, 'the link')
}

/** Opens a WebSocket to a document; returns the code with which it is closed. */
function closeCode(server, guid, token) {
  const address = `${server.replace('http', 'ws')}/sync/${guid}?token=${token}`
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address)
    socket.on('close', resolve)
    socket.on('error', reject)
  })
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'docs/deep'), { recursive: true })
    writeFileSync(join(directory, 'docs/plan.md'), '# Plan\n\nListen.\n')
    writeFileSync(join(directory, 'docs/deep/note.txt'), 'deep needle\n')
    writeFileSync(join(directory, 'secret.txt'), 'secret needle\n')
  },
  async (stage) => {
    const enter = async (address) => {
      const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
      const page = await context.newPage()
      page.on('pageerror', ({ stack }) => stage.errors.push(stack))
      await page.goto(address)
      return page
    }
    const { url, token: owner } = stage.server
    const ana = await enter(`${url}/#token=${owner}`)
    await row(ana, '/docs').click()
    await row(ana, '/docs/plan.md').click()
    await shows(ana, 'richtext')

    // A link for the directory of the open document.
    await command(ana, 'Share')
    const address = await makeLink(ana, { path: '/docs', rights: 'write', name: 'Ben' })
    const token = address.split('#token=')[1]
    await ana.getByRole('dialog', { name: 'Share' }).getByText('Ben', { exact: true }).waitFor()
    await ana.keyboard.press('Escape')

    // Ben sees what is below it, and nothing else.
    const ben = await enter(address)
    await row(ben, '/docs/plan.md').waitFor()
    const titles = await ben
      .locator('[role="treeitem"]')
      .evaluateAll((rows) => rows.map((row) => row.title))
    assertEqual(titles.toSorted(), ['/docs/deep', '/docs/plan.md'], 'the tree of Ben')
    await row(ben, '/docs/plan.md').click()
    await shows(ben, 'richtext')
    await ben.locator('.ProseMirror p').first().click()
    await ben.keyboard.press('End')
    await ben.keyboard.type(' Then write.')
    await until(async () => (await textOf(ana)).includes('Then write.'), 'what Ben types')
    await saved(ben)

    // Each sees the other in the document; Ben does not see Ana at another file.
    const at = (page, name) => page.locator(`.people [aria-label*="${name}"]`)
    const ownerName = JSON.parse(
      Buffer.from(owner.slice(4).split('.')[0], 'base64url').toString(),
    ).actor.split(':')[1]
    await at(ana, 'Ben').waitFor()
    await at(ben, `Follow ${ownerName}`).waitFor()
    await row(ana, '/secret.txt').click()
    await shows(ana, 'text')
    await at(ben, `Follow ${ownerName}`).waitFor({ state: 'detached' })
    await at(ana, 'Ben').waitFor()

    // Search, quick open, activity and trash.
    await ben.keyboard.press('Control+Shift+F')
    await ben.getByRole('textbox', { name: 'Text to find' }).fill('needle')
    await ben.locator('.search-line', { hasText: 'deep needle' }).waitFor()
    assertEqual(await ben.getByText('secret needle').count(), 0, 'found outside')
    await ben.keyboard.press('Escape')
    await ben.keyboard.press('Control+P')
    await ben.keyboard.type('secret')
    assertEqual(await ben.getByRole('option', { name: /secret/ }).count(), 0, 'quick open')
    await ben.keyboard.press('Escape')
    await stage.yfs('write', '/other-secret.txt', '--content', 'x')
    await stage.yfs('write', '/docs/seen.txt', '--content', 'x')
    await row(ben, '/docs/seen.txt').waitFor()
    for (const path of ['/other-secret.txt', '/docs/seen.txt']) await stage.yfs('rm', path)
    await row(ben, '/docs/seen.txt').waitFor({ state: 'detached' })
    const ask = (path, init = {}, bearer = token) =>
      fetch(url + path, {
        ...init,
        headers: { Authorization: `Bearer ${bearer}`, ...init.headers },
      })
    const trash = await (await ask('/api/trash')).json()
    assertEqual(
      trash.entries.map(({ original }) => original),
      ['/docs/seen.txt'],
      'the trash',
    )

    // Whatever is asked for with his token, no answer has a name or an id of the rest.
    const tree = await (await ask('/api/tree', {}, owner)).json()
    const { guid } = tree.entries.find(({ path }) => path === '/secret.txt')
    const json = (method, body) => ({
      method,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    const asked = [
      ['/api/tree'],
      ['/api/files/secret.txt'],
      ['/api/files/'],
      ['/api/files/docs/../secret.txt'],
      ['/api/stat/secret.txt'],
      ['/api/stat/'],
      ['/api/search?pattern=secret'],
      ['/api/search?pattern=secret&path=/secret.txt'],
      ['/api/log'],
      ['/api/log?path=/'],
      ['/api/log?path=/secret.txt'],
      ['/api/trash'],
      ['/api/versions/secret.txt'],
      ['/api/blame/secret.txt'],
      ['/api/peers'],
      ['/metrics'],
      ['/api/tokens'],
      ['/api/people', json('POST', { page: 'p', open: guid })],
      ['/api/tokens', json('POST', { path: '/', rights: 'read' })],
      ['/api/tokens', json('POST', { path: '/secret.txt', rights: 'read' })],
      ['/api/move', json('POST', { from: '/secret.txt', to: '/docs/mine.txt' })],
      ['/api/copy', json('POST', { from: '/secret.txt', to: '/docs/mine.txt' })],
      ['/api/name', json('POST', { name: 'Eve', secret: 'x'.repeat(20) })],
    ]
    for (const [path, init] of asked) {
      const text = await (await ask(path, init)).text()
      const shown = text.replaceAll(path.split('?')[0].replace('/api/files', ''), '')
      const isLeak = shown.includes(guid) || /secret needle|other-secret/.test(shown)
      assertEqual(isLeak, false, `${path}: ${text}`)
    }
    for (const id of [tree.workspace, guid, `opensidian.files.${guid}.content`]) {
      assertEqual(await closeCode(url, id, token), 4403, `the room ${id}`)
    }

    // He passes on no more than he has, and what he passes on ends with his link.
    const passed = await (
      await ask('/api/tokens', json('POST', { path: '/docs/plan.md', rights: 'write' }))
    ).json()
    const claims = await (await ask('/api/tokens')).json()
    const own = claims.tokens.find(({ actor }) => actor === 'human:Ben')
    assertEqual(passed.expires, own.expires, 'the end of what he passed on')

    // A new tab of his browser needs no link.
    const tab = await ben.context().newPage()
    await tab.goto(`${url}/#/docs/deep/note.txt`)
    await shows(tab, 'text')
    await tab.close()

    // He makes a file at the top of what he sees.
    await ben.getByRole('button', { name: 'New file' }).click()
    await ben.waitForSelector('.tree-input')
    await ben.keyboard.press('Control+A')
    await ben.keyboard.type('mine.txt')
    await ben.keyboard.press('Enter')
    await row(ana, '/docs/mine.txt').waitFor()
    await shows(ben, 'text')

    // A link for one document, for reading, for anyone: the reader chooses a name.
    await row(ana, '/docs/plan.md').click()
    await shows(ana, 'richtext')
    await command(ana, 'Share')
    const one = await makeLink(ana, { path: '/docs/plan.md', rights: 'read', expires: 'never' })
    const reader = await enter(one)
    await reader.getByRole('textbox', { name: 'Your name' }).fill('Rita Öz')
    await reader.keyboard.press('Enter')
    await row(reader, '/docs/plan.md').click()
    await shows(reader, 'richtext')
    assertEqual(await reader.locator('[role="treeitem"]').count(), 1, 'the tree of the reader')
    assertEqual(await reader.getByRole('button', { name: 'New file' }).count(), 0, 'no new files')
    await at(ana, 'Rita Öz').waitFor()

    // Access is taken back with a question; the page says so soon, and so do links he passed on.
    const panel = ana.getByRole('dialog', { name: 'Share' })
    await panel.getByRole('button', { name: 'Revoke the access of Ben' }).click()
    const began = performance.now()
    await panel.getByRole('button', { name: 'Revoke', exact: true }).last().click()
    await ben.locator('.banner.is-error', { hasText: 'revoked' }).waitFor()
    console.log(`the page said so after ${Math.round(performance.now() - began)} ms`)
    assertEqual((await ask('/api/tree')).status, 401, 'the token of Ben')
    assertEqual((await ask('/api/tree', {}, passed.token)).status, 401, 'what he passed on')
    await panel.getByText('Ben', { exact: true }).waitFor({ state: 'detached' })
  },
)
