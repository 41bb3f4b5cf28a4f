// The states of the application that pictures are made of. Each brings the page, which shows the
// start page, to its state.

/** Opens a panel by the palette of commands. */
async function command(page, name) {
  await page.keyboard.press('F1')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
}

async function openTree(page, look) {
  if (look === 'phone') await page.getByRole('button', { name: 'Files and places' }).click()
}

export const STATES = {
  'start-page': (page) => page.waitForSelector('.home-row:not(.skeleton)'),
  document: (_page, { open }) => open('/README.md'),
  'document-with-others': async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await page.waitForSelector('.remote-cursor')
  },
  code: (_page, { open }) => open('/examples/backfill.py'),
  table: (_page, { open }) => open('/glossary.csv'),
  picture: async (page, { open }) => {
    await open('/assets/tide-curve.png')
    await page.waitForSelector('.blob-content img')
  },
  bytes: (_page, { open }) => open('/assets/gauge-firmware.v1.2.bin'),
  source: async (page, { open, shows }) => {
    await open('/runbooks/on-call.md')
    await command(page, 'Source')
    await shows(page, 'source')
  },
  authors: async (page, { open, shows }) => {
    await open('/runbooks/review.md')
    await command(page, 'Authors')
    await shows(page, 'blame')
  },
  history: async (page, { open }) => {
    await open('/runbooks/review.md')
    await command(page, 'History of this file')
    await page.waitForSelector('.editor-side:not([hidden])')
  },
  activity: async (page) => {
    await command(page, 'Show the activity')
    await page.getByText('reviewer').first().waitFor()
  },
  trash: async (page) => {
    await command(page, 'Show the trash')
    await page.getByRole('dialog', { name: 'Trash' }).waitFor()
  },
  'open-a-file': async (page) => {
    await page.keyboard.press('Control+P')
    await page.keyboard.type('onboard')
  },
  commands: (page) => page.keyboard.press('F1'),
  search: async (page) => {
    await page.keyboard.press('Control+Shift+F')
    await page.keyboard.type('pager')
    await page.waitForSelector('mark')
  },
  settings: async (page) => {
    await command(page, 'Settings')
    await page.getByRole('dialog', { name: 'Settings' }).waitFor()
  },
  shortcuts: (page) => page.keyboard.press('Control+/'),
  'missing-file': async (page, { stage }) => {
    await page.goto(`${stage.server.url}/#/runbooks/oncall.md`)
    await page.getByRole('heading', { name: 'There is no file' }).waitFor()
  },
  'document-menu': async (page, { open }) => {
    await open('/README.md')
    await page.getByRole('button', { name: 'More' }).click()
  },
  rename: async (page, { open }) => {
    await open('/README.md')
    await command(page, 'This file: Rename')
  },
  'new-file': async (page, { look }) => {
    await openTree(page, look)
    await page.locator('.files-head').getByRole('button', { name: 'New file' }).click()
  },
  tree: async (page, { look }) => {
    await openTree(page, look)
    await page.locator('[role="treeitem"][title="/engineering"]').click()
  },
}
