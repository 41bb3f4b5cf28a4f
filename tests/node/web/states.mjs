// The states of the application that pictures are made of, and that are checked for accessibility.
// Each brings the page, which shows the start page, to its state.

import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { shows } from './one_file.mjs'

/** A file with the blocks that have a look of their own. */
const BLOCKS = `# Surge, in one page

> [!WARNING]
> A level above the mark of the harbour closes the gate. It is never opened by hand.

The surge is what the tide does not explain, $s = h - Z_0$:

\`\`\`math
h(t) = Z_0 + \\sum_{i=1}^{n} f_i A_i \\cos(\\omega_i t - g_i) + s(t)
\`\`\`

\`\`\`python
def surge(level: float, tide: float) -> float:
    """The part that the weather made."""
    return level - tide  # in centimetres
\`\`\`
`

/** What two people made of one word while each was without a connection. */
const WORDS = {
  places: [
    {
      line: 2,
      text: 'warning_cm = 4560',
      words: [
        { text: '45', actors: ['human:ana'] },
        { text: '60', actors: ['human:ben'] },
      ],
    },
  ],
}
const CONFLICTS = [
  { kind: 'words', id: 'limits', path: '/notes/limits.toml', detail: '1 place' },
  {
    kind: 'removed',
    id: 'glossary',
    path: '/glossary.csv',
    detail: 'removed by agent:reviewer while human:ben changed it',
  },
]

const isPhone = (page) => page.viewportSize().width < 700

/** Opens a panel by the palette of commands. */
async function command(page, name) {
  await page.keyboard.press('F1')
  await page.getByRole('dialog', { name: 'Commands' }).waitFor()
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
}

async function openTree(page) {
  if (!isPhone(page)) return
  await page.getByRole('button', { name: 'Files and places' }).click()
  await page.waitForSelector('.has-drawer')
}

const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)

/** Answers requests for an address with a value until the next state. */
async function answer(page, { ends }, address, value) {
  await page.route(address, (route) => route.fulfill({ json: value }))
  ends.push(() => page.unroute(address))
}

async function openHistory(page, open) {
  await open('/runbooks/review.md')
  await command(page, 'History of this file')
  await page.waitForSelector('.history-entry .change-counts')
}

export const STATES = {
  'start-page': (page) => page.waitForSelector('.home-row:not(.skeleton)'),
  'empty-workspace': async (page, context) => {
    const { stage, ends } = context
    const token = await page.evaluate(() => sessionStorage.getItem('yfs:token'))
    ends.push(() => page.evaluate((token) => sessionStorage.setItem('yfs:token', token), token))
    await page.evaluate((token) => sessionStorage.setItem('yfs:token', token), stage.emptyToken)
    await page.reload()
    await page.getByText('This workspace is empty').waitFor()
  },
  document: (_page, { open }) => open('/README.md'),
  'document-with-others': async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await page.waitForSelector('.remote-cursor')
  },
  selection: async (page, { open }) => {
    await open('/onboarding/first-week.md')
    await page.waitForSelector('.format-popup', { state: 'attached' })
    await page.locator('.ProseMirror h1').dblclick({ position: { x: 20, y: 15 } })
    const bar = isPhone(page) ? '.page-bar:not(.is-idle)' : '.format-popup:not([hidden])'
    await page.waitForSelector(bar)
  },
  table: async (page, { open }) => {
    await open('/runbooks/gauge-offline.md')
    await page.locator('.ProseMirror td', { hasText: 'solar panel' }).click()
    await page.locator('.table-menu').click()
    await page.getByRole('menu').waitFor()
  },
  blocks: async (page, { open }) => {
    await open('/notes/surge.md')
    await page.waitForSelector('.code-keyword')
    await page.waitForSelector('.code-preview .katex')
    await page.waitForSelector('.formula .katex')
  },
  find: async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await page.locator('.ProseMirror p').first().click()
    await page.keyboard.press('Control+f')
    await page.locator('.find-panel input[name=search]').fill('forg')
    const more = page.getByRole('button', { name: 'Show replace' })
    if ((await more.getAttribute('aria-expanded')) === 'false') await more.click()
    await page.waitForSelector('.find-panel input[name=replace]')
    await page.getByText('of 1').waitFor()
  },
  code: async (page, { open }) => {
    await open('/examples/backfill.py')
    await page.locator('.cm-content').click({ position: { x: 4, y: 4 } })
    await page.keyboard.press('Control+g')
    await page.waitForSelector('.cm-panel input')
  },
  symbols: async (page, { open }) => {
    await open('/examples/tide_client.ts')
    await shows(page, 'text')
    await page.keyboard.press('Control+Shift+O')
    await page.waitForSelector('.choices li')
  },
  picture: async (page, { open }) => {
    await open('/assets/tide-curve.png')
    await page.waitForFunction(() => {
      return document.querySelector('.blob-content img')?.naturalWidth > 0
    })
  },
  source: async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await command(page, 'Source')
    await shows(page, 'source')
  },
  split: async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await shows(page, 'richtext')
    // A phone is not offered it.
    if (page.viewportSize().width < 700) return
    await page.keyboard.press('Control+\\')
    await page.waitForSelector('.split-source .cm-line')
  },
  authors: async (page, { open }) => {
    await open('/runbooks/review.md')
    await command(page, 'Authors')
    await page.waitForSelector('.blame-author b')
  },
  history: (page, { open }) => openHistory(page, open),
  version: async (page, { open }) => {
    await openHistory(page, open)
    await page.locator('.history-entry').first().click()
    await page.waitForSelector('.dialog .diff-added')
  },
  activity: async (page) => {
    await command(page, 'Show the activity')
    await page.locator('.activity li', { hasText: 'reviewer' }).first().waitFor()
  },
  trash: async (page) => {
    await command(page, 'Show the trash')
    await page.getByRole('dialog', { name: 'Trash' }).waitFor()
    await page.locator('.trash-entry').first().click()
    await page.waitForSelector('.trash-text')
  },
  'open-a-file': async (page) => {
    await page.keyboard.press('Control+P')
    await page.keyboard.type('onboard')
    await page.getByRole('option', { name: 'first-week' }).waitFor()
  },
  search: async (page) => {
    await page.keyboard.press('Control+Shift+F')
    await page.getByRole('button', { name: 'Replace' }).click()
    await page.getByRole('textbox', { name: 'Text to find' }).fill('pager')
    await page.waitForSelector('.search-line mark')
  },
  settings: async (page) => {
    await command(page, 'Settings')
    await page.getByRole('dialog', { name: 'Settings' }).waitFor()
  },
  shortcuts: async (page) => {
    await page.keyboard.press('Control+/')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  },
  'missing-file': async (page, { stage }) => {
    await page.goto(`${stage.server.url}/#/runbooks/oncall.md`)
    await page.getByRole('heading', { name: 'There is no file' }).waitFor()
  },
  'document-menu': async (page, { open }) => {
    await open('/README.md')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menu').waitFor()
  },
  'new-file': async (page) => {
    await openTree(page)
    await page.locator('.files-head').getByRole('button', { name: 'New file' }).click()
    await page.waitForSelector('.tree-input')
  },
  tree: async (page) => {
    await openTree(page)
    await row(page, '/engineering').click()
    await row(page, '/engineering/style').waitFor()
  },
  'file-menu': async (page) => {
    await openTree(page)
    await row(page, '/README.md').click({ button: 'right' })
    await page.getByRole('menu').waitFor()
  },
  share: async (page, { open }) => {
    await open('/onboarding/first-week.md')
    await page.getByRole('button', { name: 'Share' }).click()
    await page.waitForSelector('.access li')
  },
  conflicts: async (page, context) => {
    await answer(page, context, '**/api/conflicts', { conflicts: CONFLICTS })
    await answer(page, context, '**/api/conflicts/**', WORDS)
    await command(page, 'Settle conflicts')
    await page.waitForSelector('.conflict-sides')
  },
  'your-name': async (page) => {
    await command(page, 'Change your name')
    await page.getByRole('dialog', { name: 'Change your name' }).waitFor()
  },
  upload: async (page, context) => {
    // The first file is taken, and the second one stays on its way.
    const isSent = (url) => /\/api\/(files|uploads)\//.test(url.pathname)
    await page.route(isSent, (route) => {
      const method = route.request().method()
      if (method === 'PUT') return route.fulfill({ status: 201 })
      return method === 'PATCH' ? undefined : route.continue()
    })
    context.ends.push(async () => {
      // What is on its way would arrive.
      await page.goto('about:blank')
      await page.unroute(isSent)
    })
    const chooser = page.waitForEvent('filechooser')
    await command(page, 'Upload files')
    await (await chooser).setFiles(context.stage.uploads)
    await page.getByText('Done').waitFor()
  },
  offline: async (page, { open, ends }) => {
    await open('/README.md')
    const connection = connectionOf.get(page)
    ends.push(() => connection.cut(false))
    await connection.cut(true)
    await page.getByText('No connection to the server').waitFor()
  },
  // The last one: the marks stay on.
  'changed-lines': async (page, { open }) => {
    await open('/examples/harmonic.rs')
    await shows(page, 'text')
    await page.locator('.cm-line').nth(3).click()
    await command(page, 'Changed lines')
    await page.waitForSelector('.change-gutter')
    await page.keyboard.press('End')
    await page.keyboard.type(' //')
    await page.waitForSelector('.change-mark')
    await page.keyboard.press('Alt+F3')
    await page.waitForSelector('.change-panel')
  },
}

/** Copies what the states show. */
export function prepareStates(stage, fixtures) {
  const { directory } = stage
  stage.serveWith = ['--name', 'Ana']
  cpSync(join(fixtures, 'handbook'), directory, { recursive: true })
  mkdirSync(join(directory, 'drafts'))
  writeFileSync(join(directory, 'notes/surge.md'), BLOCKS)
  const local = join(directory, '..', `${basename(directory)}-local`)
  mkdirSync(local)
  // A file of more than 1 MiB is sent in pieces.
  stage.uploads = [
    ['harbours.geojson', 900_000],
    ['survey-2026-11.tiff', 1_100_000],
  ].map(([name, size]) => {
    const path = join(local, name)
    writeFileSync(path, Buffer.alloc(size))
    return path
  })
}

/** Lets a second person come, an agent work, and links be made. */
export async function enterStates(stage) {
  const ben = await stage.open('/runbooks/on-call.md', { name: 'Ben', color: '#b4642d' })
  await shows(ben, 'richtext')
  await ben.locator('.ProseMirror p').nth(1).click()
  await ben.keyboard.press('End')
  const agent = ['--actor', 'agent:reviewer']
  await stage.yfs('write', '/runbooks/review.md', '--content', '# Review\n', ...agent)
  await stage.yfs('append', '/runbooks/review.md', '--content', '\nNo findings.\n', ...agent)
  await stage.yfs('rm', '/glossary.csv', ...agent)
  const token = async (...args) => (await stage.yfs('--quiet', 'token', 'new', ...args)).trim()
  stage.emptyToken = await token('--path', '/drafts', '--for', 'human:ines')
  await token('--path', '/runbooks', '--read', '--for', 'human:joris')
  // The last state edits it, and is shown again on the next page.
  const ana = ['--actor', 'human:Ana']
  await stage.yfs('append', '/examples/harmonic.rs', '--content', '// The end.\n', ...ana)
  // Ines was here, whichever states are shown.
  await stage.fetch('/api/tree', { headers: { Authorization: `Bearer ${stage.emptyToken}` } })
}

/** The connection of each page to the server, which can be cut. */
const connectionOf = new WeakMap()

/** Lets the connection of a page be cut; before the page is opened. */
export async function watchConnection(page) {
  const sockets = new Set()
  let isCut = false
  await page.routeWebSocket(/\/sync\//, (socket) => {
    if (isCut) return socket.close()
    sockets.add(socket)
    socket.connectToServer()
  })
  const cut = async (now) => {
    isCut = now
    if (!now) return
    for (const socket of sockets) await socket.close().catch(() => {})
    sockets.clear()
  }
  connectionOf.set(page, { cut })
}

/** What the next state has to take back, for each page. */
const endsOf = new WeakMap()

/** Brings a page to a state. */
export async function showState(stage, page, name) {
  const { url } = stage.server
  for (const end of endsOf.get(page) ?? []) await end()
  const ends = []
  endsOf.set(page, ends)
  const open = async (path) => {
    await page.goto(`${url}/#${encodeURI(path)}`)
    await page.waitForSelector('[data-editor]')
    // Bytes have no such state.
    await page.waitForSelector('.saved-state[data-state="saved"], .blob-bar')
  }
  if (page.url().startsWith(url)) {
    await page.evaluate(() => window.history.replaceState(null, '', '#/'))
    await page.reload()
  } else await page.goto(`${url}/#/`)
  await page.waitForSelector('.home-page')
  await STATES[name](page, { stage, open, ends })
}
