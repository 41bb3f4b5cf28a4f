// What others say of themselves is no style, no markup and no error in the page: a peer sends
// colors that are CSS, names that are no text, cursors that are no places, and states that are no
// objects, in both editors and in the list of files.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import WebSocket from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { assertEqual, scenario, shows, until } from './one_file.mjs'

// Each provider listens for the end of the process.
process.setMaxListeners(100)

const STYLE = 'red;position:fixed;inset:0;z-index:9;background-image:url(https://example.com/x)'
const LONG = 'n'.repeat(10_000)

const cursorIn = (root) => {
  const place = { type: null, tname: root, item: null, assoc: 0 }
  return { anchor: place, head: place }
}

/** States that a hostile or careless peer may send. */
const statesOf = (root) => [
  { user: { name: 'Mallory', color: STYLE, colorLight: STYLE }, cursor: cursorIn(root) },
  { user: { name: `a\u0000\u202e\u200b\n${LONG}`, color: '#12345' }, cursor: cursorIn(root) },
  { user: { name: { toString: 1 }, color: ['#ffffff'] }, cursor: cursorIn(root) },
  { user: 'Mallory', cursor: cursorIn(root) },
  { user: null, cursor: { anchor: null, head: 7 } },
  { cursor: { anchor: { item: { client: -1, clock: 'x' } }, head: {} } },
  { cursor: { anchor: { tname: 'other' }, head: { tname: 'other' } } },
  { user: { name: 'Nil', color: '#ffffff' }, cursor: 'here', open: { id: 1 } },
  ['a list'],
  'a text',
  42,
  true,
]

/** Joins a document as one peer for each state. */
function joinAs(stage, guid, states) {
  const url = `${stage.server.url.replace('http', 'ws')}/sync`
  return states.map((state) => {
    const params = { token: stage.server.token }
    const options = { params, WebSocketPolyfill: WebSocket, disableBc: true }
    const provider = new WebsocketProvider(url, guid, new Y.Doc(), options)
    const { awareness } = provider
    // Only objects can be set as a state.
    awareness.setLocalState({})
    awareness.states.set(awareness.clientID, state)
    return provider
  })
}

/** Returns the styles of all elements that show a person, without those that are allowed. */
const stylesOf = (page, selector) =>
  page.evaluate((selector) => {
    const found = [...document.querySelectorAll(selector)]
    const color = '(#[0-9a-f]{6,8}|rgba?\\([0-9., ]+\\))'
    const allowed = new RegExp(`^((--person|[a-z-]*color|background): ?${color};? ?)*$`, 'i')
    const styles = found.map((element) => element.getAttribute('style') ?? '')
    return { nFound: found.length, wrong: styles.filter((style) => !allowed.test(style)) }
  }, selector)

const PEOPLE = '.editor-people li'
const CURSORS =
  '.cm-ySelectionCaret, .cm-ySelection, .remote-cursor, .remote-cursor-name, ' +
  '.ProseMirror-yjs-selection'

async function check(stage, path, editor) {
  const page = await stage.open(path)
  await shows(page, editor)
  const guid = await page.evaluate((path) => window.harness.workspace.idOf(path), path)
  const root = editor === 'text' ? 'text' : 'richtext'
  const peers = joinAs(stage, guid, statesOf(root))
  const polite = { user: { name: 'Zoë 👩‍👧', color: '#0b6a74' }, cursor: cursorIn(root) }
  peers.push(...joinAs(stage, guid, [polite]))
  const names = () => page.locator(PEOPLE).evaluateAll((all) => all.map(({ title }) => title))
  const expected = ['Mallory', 'Nil', 'Zoë 👩‍👧', `a${'n'.repeat(63)}`, 'guest'].sort()
  await until(
    async () => JSON.stringify((await names()).sort()) === JSON.stringify(expected),
    `the names in ${path}`,
  )
  const label = editor === 'text' ? '.cm-ySelectionInfo' : '.remote-cursor-name'
  await until(() => page.locator(label, { hasText: 'Zoë' }).count(), 'the cursor of Zoë')
  for (const selector of [PEOPLE, CURSORS]) {
    const { nFound, wrong } = await stylesOf(page, selector)
    assertEqual(wrong, [], `the styles of ${selector}`)
    if (nFound === 0) throw new Error(`nothing is ${selector}`)
  }
  // The editor works on.
  await page.click('.ProseMirror, .cm-content')
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' goes on')
  await until(async () => (await stage.yfs('cat', path)).includes('goes on'), 'what was typed')
  for (const peer of peers) peer.destroy()
  await page.close()
}

/** The list of people above the tree is of the main document. */
async function checkApplication(stage) {
  const { workspace } = await (await stage.fetch('/api/tree')).json()
  const page = await (await stage.browser.newContext()).newPage()
  page.on('pageerror', ({ stack }) => stage.errors.push(`application: ${stack}`))
  await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
  await page.waitForSelector('[role="treeitem"]')
  const peers = joinAs(stage, workspace, statesOf('text'))
  await until(() => page.getByTitle(/Mallory/).count(), 'Mallory above the tree')
  await until(() => page.getByTitle(/Nil/).count(), 'the last one above the tree')
  const { wrong } = await stylesOf(page, '[style*="--person"], [style*="background"]')
  assertEqual(wrong, [], 'the styles above the tree')
  for (const peer of peers) peer.destroy()
}

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'log.txt'), 'Monday\r\nTuesday\r\n')
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen.\n')
  },
  async (stage) => {
    await check(stage, '/log.txt', 'text')
    await check(stage, '/plan.md', 'richtext')
    await checkApplication(stage)
  },
)
