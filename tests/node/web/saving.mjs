// "Saved" means that the server has stored everything: not while it is stopped or gone. The changes
// of a closed window reach it later.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addressOf,
  assertEqual,
  saved,
  savedState,
  scenario,
  shows,
  textOf,
  until,
} from './one_file.mjs'

await scenario(
  ({ directory }) => {
    writeFileSync(join(directory, 'log.txt'), 'Monday\n')
    writeFileSync(join(directory, 'plan.md'), '# Plan\n\nListen.\n')
  },
  async (stage) => {
    const page = await stage.open('/log.txt')
    await shows(page, 'text')
    await saved(page)
    const seen = () => page.evaluate(() => window.states)
    await page.evaluate(() => {
      window.states = []
      const element = document.querySelector('.saved-state')
      const note = () => window.states.push(element.dataset.state)
      new MutationObserver(note).observe(element, { attributes: true })
    })

    // The server process is stopped: the connection stays, and nothing is stored.
    stage.server.signal('SIGSTOP')
    await page.click('.cm-content')
    await page.keyboard.press('Control+End')
    await page.keyboard.type('Tuesday\n')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('\n')
    await until(async () => (await savedState(page)) === 'saving', 'the state while it waits')
    assertEqual([...new Set(await seen())], ['saving'], 'the states while the server is stopped')
    stage.server.signal('SIGCONT')
    await saved(page)
    assertEqual(await stage.yfs('cat', '/log.txt'), 'Monday\nTuesday\n', 'the stored file')

    // The server is gone: typing goes on, and merges with what changed meanwhile.
    const start = await stage.stopServer()
    await until(async () => (await savedState(page)) === 'offline', 'the state without a server')
    await page.keyboard.type('Wednesday\n')
    await until(async () => (await savedState(page)) === 'waiting', 'the state with changes')
    await stage.yfs('edit', '/log.txt', '--old', 'Monday', '--new', 'Sunday')
    await start()
    await saved(page)
    const merged = 'Sunday\nTuesday\nWednesday\n'
    await until(async () => (await textOf(page)).includes('Sunday'), 'the change of the command')
    assertEqual(await stage.yfs('cat', '/log.txt'), merged, 'the merged file')

    // A page that is closed with changes sends them when it is open again, on any file.
    const restart = await stage.stopServer()
    await until(async () => (await savedState(page)) === 'offline', 'the state without a server')
    await page.keyboard.type('Thursday\n')
    await until(async () => (await savedState(page)) === 'waiting', 'the state with changes')
    const address = (await addressOf(page)).href.replace('log.txt', 'plan.md')
    await page.close()
    await restart()
    const again = await stage.lastContext.newPage()
    await again.goto(address)
    await shows(again, 'richtext')
    const whole = `${merged}Thursday\n`
    await until(async () => (await stage.yfs('cat', '/log.txt')) === whole, 'the late change')
    await until(() => readFileSync(join(stage.directory, 'log.txt'), 'utf8') === whole, 'the disk')
  },
)
