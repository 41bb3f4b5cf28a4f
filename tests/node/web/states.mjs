// The states of the application that pictures are made of, and that are checked for accessibility.
// Each brings the page, which shows the start page, to its state.

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { shows } from './one_file.mjs'

/** Opens a panel by the palette of commands. */
async function command(page, name) {
  await page.keyboard.press('F1')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
}

async function openTree(page) {
  const isPhone = page.viewportSize().width < 700
  if (isPhone) await page.getByRole('button', { name: 'Files and places' }).click()
}

export const STATES = {
  'start-page': (page) => page.waitForSelector('.home-row:not(.skeleton)'),
  document: (_page, { open }) => open('/README.md'),
  'document-with-others': async (page, { open }) => {
    await open('/runbooks/on-call.md')
    await page.waitForSelector('.remote-cursor')
  },
  code: (_page, { open }) => open('/examples/backfill.py'),
  symbols: async (page, { open }) => {
    await open('/examples/tide_client.ts')
    await shows(page, 'text')
    await page.keyboard.press('Control+Shift+O')
    await page.waitForSelector('.choices li')
  },
  picture: async (page, { open }) => {
    await open('/assets/tide-curve.png')
    await page.waitForSelector('.blob-content img')
  },
  bytes: (_page, { open }) => open('/assets/gauge-firmware.v1.2.bin'),
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
  'new-file': async (page) => {
    await openTree(page)
    await page.locator('.files-head').getByRole('button', { name: 'New file' }).click()
  },
  tree: async (page) => {
    await openTree(page)
    await page.locator('[role="treeitem"][title="/engineering"]').click()
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
export function prepareStates({ directory }, fixtures) {
  cpSync(join(fixtures, 'handbook'), directory, { recursive: true })
}

/** Lets a second person come, and an agent work. */
export async function enterStates(stage) {
  const ben = await stage.open('/runbooks/on-call.md', { name: 'Ben', color: '#b4642d' })
  await shows(ben, 'richtext')
  await ben.locator('.ProseMirror p').nth(1).click()
  await ben.keyboard.press('End')
  const agent = ['--actor', 'agent:reviewer']
  await stage.yfs('write', '/runbooks/review.md', '--content', '# Review\n', ...agent)
  await stage.yfs('append', '/runbooks/review.md', '--content', '\nNo findings.\n', ...agent)
  await stage.yfs('rm', '/glossary.csv', ...agent)
}

/** Brings a page to a state. */
export async function showState(stage, page, name) {
  const { url } = stage.server
  const open = async (path) => {
    await page.goto(`${url}/#${encodeURI(path)}`)
    await page.waitForSelector('[data-editor]')
    // Bytes have no such state.
    await page.waitForSelector('.saved-state[data-state="saved"], .blob-bar')
  }
  await page.goto(`${url}/#/`)
  await page.reload()
  await page.waitForSelector('.home-page')
  await STATES[name](page, { stage, open })
}
