// Links, blocks and marks as people write them, and what one Ctrl+Z takes back:
// `node format.mjs PROFILE`.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, isFirefox, paste, saved, scenario, shows, until } from './one_file.mjs'

const [profile] = process.argv.slice(2)
const { PICTURES } = process.env

/** Each story: a file, where the caret starts, what is done, and the file after it. */
const stories = []
const story = (name, before, play, after) => stories.push({ name, before, play, after })

/** Selects words in the text by the mouse-free way of the browser. */
async function select(page, words) {
  await page.evaluate((words) => {
    const walker = document.createTreeWalker(document.querySelector('.ProseMirror'), 4)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const at = node.data.indexOf(words)
      if (at === -1) continue
      document.querySelector('.ProseMirror').focus()
      getSelection().setBaseAndExtent(node, at, node, at + words.length)
      return
    }
    throw new Error(`no ${words}`)
  }, words)
  await until(() => page.evaluate(() => getSelection().toString()), 'the selection')
}

const END = ['Control+End']
const press = (page, ...keys) =>
  keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve())
const type = (page, text) => page.keyboard.type(text)
const field = (page, name) => page.getByRole('dialog', { name: 'Link' }).getByLabel(name)

story(
  'typed-link',
  'See \n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' [the plan](plan.md) and more')
  },
  'See [the plan](plan.md) and more\n',
)

story(
  'typed-link-undone',
  'See\n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' [x](y.md)')
    await until(() => page.locator('.ProseMirror a').count(), 'the link')
    await press(page, 'Control+z')
    assertEqual(await page.locator('.ProseMirror p').textContent(), 'See [x](y.md)', 'undone')
    await press(page, 'Control+y')
  },
  'See [x](y.md)\n',
)

story(
  'address',
  'At\n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' https://example.org/a_(b). Then')
  },
  'At <https://example.org/a_(b)>. Then\n',
)

story(
  'address-undone',
  'At\n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' https://example.org')
    assertEqual(await page.locator('.ProseMirror a').count(), 0, 'no link before the space')
    await press(page, 'Enter')
    await until(() => page.locator('.ProseMirror a').count(), 'the link')
    await press(page, 'Control+z')
    assertEqual(await page.locator('.ProseMirror a').count(), 0, 'the link undone')
    assertEqual(await page.locator('.ProseMirror p').count(), 2, 'the paragraphs stay')
    await press(page, 'Control+y')
    await type(page, 'End')
  },
  'At <https://example.org>\n\nEnd\n',
)

story(
  'pasted-address',
  'Read the plan now\n',
  async (page) => {
    await select(page, 'the plan')
    await paste(page, { 'text/plain': 'https://example.org/plan' })
  },
  'Read [the plan](https://example.org/plan) now\n',
)

story(
  'ctrl-k',
  'Read the plan now\n',
  async (page) => {
    await select(page, 'the plan')
    await press(page, 'Control+k')
    await field(page, 'Address').waitFor()
    await type(page, 'notes/the plan.md')
    await press(page, 'Enter')
    await until(() => page.locator('.ProseMirror a').count(), 'the link')
    // In the link, the field has what is there; removing leaves the words.
    await press(page, 'Control+k')
    assertEqual(await field(page, 'Address').inputValue(), 'notes/the%20plan.md', 'the address')
    assertEqual(await field(page, 'Text').inputValue(), 'the plan', 'the words')
    await field(page, 'Text').fill('my plan')
    await press(page, 'Enter')
  },
  'Read [my plan](notes/the%20plan.md) now\n',
)

story(
  'bubble',
  'A [plan](b.md) here\n',
  async (page) => {
    await page.click('.ProseMirror a')
    const bubble = page.getByRole('group', { name: 'Link' })
    await bubble.waitFor()
    await bubble.getByRole('button', { name: 'Remove the link' }).click()
  },
  'A plan here\n',
)

story(
  'unsafe',
  'A plan\n',
  async (page) => {
    await select(page, 'plan')
    await press(page, 'Control+k')
    await field(page, 'Address').fill('javascript:alert(1)')
    await page.getByRole('alert').waitFor()
    await press(page, 'Enter', 'Escape')
  },
  'A plan\n',
)

story(
  'selection-bubble',
  'Some bold words\n',
  async (page) => {
    await select(page, 'bold')
    const bubble = page.getByRole('toolbar', { name: 'Format of the selection' })
    await bubble.getByRole('button', { name: 'Bold' }).click()
    await bubble.locator('button[aria-label="Bold"][aria-pressed="true"]').waitFor()
  },
  'Some **bold** words\n',
)

story(
  'bar',
  'Some words\n',
  async (page) => {
    await page.click('.ProseMirror p')
    await press(page, 'Alt+F10')
    const bar = page.getByRole('toolbar', { name: 'Format', exact: true })
    await bar.locator('.format-kind:focus').waitFor()
    await press(page, 'ArrowRight')
    await bar.locator('[aria-label="Bold"]:focus').waitFor()
    await press(page, 'ArrowLeft', 'Enter')
    await page.getByRole('menuitemcheckbox', { name: 'Heading 2' }).click()
    await bar.getByRole('button', { name: 'Turn into' }).filter({ hasText: 'Heading 2' }).waitFor()
  },
  '## Some words\n',
)

story(
  'lists',
  'one\n\ntwo\n',
  async (page) => {
    await press(page, 'Control+a')
    const bar = page.getByRole('toolbar', { name: 'Format', exact: true })
    await bar.getByRole('button', { name: 'Bullet list' }).click()
    await bar.getByRole('button', { name: 'Numbered list' }).click()
  },
  '1. one\n2. two\n',
)

story(
  'heading-back',
  'Text\n\n## Head\n',
  async (page) => {
    await page.click('.ProseMirror h2')
    await press(page, 'Home', 'Backspace')
  },
  'Text\n\nHead\n',
)

story(
  'heading-level',
  '## Head\n',
  async (page) => {
    await page.click('.ProseMirror h2')
    await press(page, 'Home')
    await type(page, '# ')
  },
  '# Head\n',
)

story(
  'rule-undone',
  'Text\n',
  async (page) => {
    await press(page, ...END, 'Enter')
    await type(page, '## ')
    await page.locator('.ProseMirror h2').waitFor()
    await press(page, 'Control+z')
    await page.locator('.ProseMirror h2').waitFor({ state: 'detached' })
    assertEqual(await page.locator('.ProseMirror p').last().textContent(), '## ', 'the typed text')
    await press(page, 'Control+y')
    await type(page, 'Head')
  },
  'Text\n\n## Head\n',
)

story(
  'keys',
  'Text\n',
  async (page) => {
    await page.click('.ProseMirror p')
    await press(page, 'Control+Alt+3')
  },
  '### Text\n',
)

story(
  'leave-code',
  'Text\n\n```\ncode\n```\n',
  async (page) => {
    await page.click('.ProseMirror pre')
    await press(page, 'End', 'Enter', 'Enter')
    await type(page, 'After')
  },
  'Text\n\n```\ncode\n```\n\nAfter\n',
)

story(
  'below-code',
  '```\ncode\n```\n',
  async (page) => {
    await page.click('.ProseMirror pre')
    await press(page, 'End', 'ArrowDown')
    await type(page, 'After')
  },
  '```\ncode\n```\n\nAfter\n',
)

story(
  'leave-quote',
  '> quote\n',
  async (page) => {
    await page.click('.ProseMirror blockquote p')
    await press(page, 'End', 'Enter', 'Enter')
    await type(page, 'After')
  },
  '> quote\n\nAfter\n',
)

story(
  'leave-list',
  '- one\n',
  async (page) => {
    await page.click('.ProseMirror li p')
    await press(page, 'End', 'Enter', 'Enter')
    await type(page, 'After')
  },
  '- one\n\nAfter\n',
)

story(
  'click-below',
  'Text\n\n- one\n',
  async (page) => {
    const { x, y, height } = await page.locator('.ProseMirror ul').boundingBox()
    await page.mouse.click(x + 40, y + height + 60)
    await type(page, 'After')
  },
  'Text\n\n- one\n\nAfter\n',
)

story(
  'ctrl-end-rule',
  'Text\n\n---\n',
  async (page) => {
    await page.click('.ProseMirror p')
    await press(page, 'Control+End')
    await type(page, 'After')
  },
  'Text\n\n---\n\nAfter\n',
)

story(
  'ctrl-end-picture',
  '![a](a.png)\n',
  async (page) => {
    await press(page, 'Control+End')
    await type(page, 'After')
  },
  '![a](a.png)\n\nAfter\n',
)

story(
  'moving-writes-nothing',
  'Text\n\n```\ncode\n```\n',
  async (page) => {
    await page.click('.ProseMirror pre')
    await press(page, 'End', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowUp', 'Control+End')
    const { x, y, height } = await page.locator('.ProseMirror pre').boundingBox()
    await page.mouse.click(x + 40, y + height + 60)
  },
  'Text\n\n```\ncode\n```\n',
)

story(
  'move',
  '# A\n\none\n\ntwo\n',
  async (page) => {
    await page.locator('.ProseMirror p').last().click()
    await press(page, 'Alt+ArrowUp', 'Alt+ArrowUp', 'Alt+ArrowDown')
  },
  '# A\n\ntwo\n\none\n',
)

story(
  'move-item',
  '- one\n- two\n- three\n',
  async (page) => {
    await page.locator('.ProseMirror li p').first().click()
    await press(page, 'Alt+ArrowDown')
  },
  '- two\n- one\n- three\n',
)

story(
  'space-after-bold',
  'A **bold**\n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' and plain')
  },
  'A **bold** and plain\n',
)

story(
  'bold-typed',
  'A\n',
  async (page) => {
    await press(page, ...END)
    await type(page, ' ')
    await press(page, 'Control+b')
    await type(page, 'very bold')
    await press(page, 'Control+b')
    await type(page, ' end')
  },
  'A **very bold** end\n',
)

// The driver of Firefox drops nothing.
if (!isFirefox) {
  story(
    'handle-drag',
    'one\n\ntwo\n\nthree\n',
    async (page) => {
      const last = await page.locator('.ProseMirror p').last().boundingBox()
      const first = await page.locator('.ProseMirror p').first().boundingBox()
      await page.mouse.move(last.x + 30, last.y + last.height / 2)
      await page.locator('.block-handle.is-shown').waitFor()
      const target = { x: first.x + 20, y: first.y + 1 }
      const handle = await page.locator('.block-handle button').boundingBox()
      await page.mouse.move(handle.x + 8, handle.y + 8)
      await page.mouse.down()
      await page.mouse.move(target.x, target.y + 20, { steps: 4 })
      await page.mouse.move(target.x, target.y, { steps: 4 })
      await page.mouse.up()
    },
    'three\n\none\n\ntwo\n',
  )
}

story(
  'handle-menu',
  'one\n\n## two\n',
  async (page) => {
    await page.locator('.ProseMirror p').hover()
    await page.locator('.block-handle.is-shown button').click()
    await page.getByRole('menuitem', { name: 'Duplicate' }).click()
    await page.locator('.ProseMirror h2').hover()
    await page.locator('.block-handle.is-shown button').click()
    await page.getByRole('menuitem', { name: 'Copy the link to the heading' }).waitFor()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
  },
  'one\n\none\n',
)

story(
  'to-heading',
  'Go [down](#far-away).\n\n## Far away\n',
  async (page) => {
    await page.locator('.ProseMirror a').click()
    const bubble = page.getByRole('group', { name: 'Link' })
    await bubble.getByRole('button', { name: 'Open the link' }).click()
    await type(page, 'Not ')
  },
  'Go [down](#far-away).\n\n## Not Far away\n',
)

story(
  'link-end',
  'A [x](y.md)\n',
  async (page) => {
    await press(page, ...END)
    await type(page, 's and more')
  },
  'A [x](y.md)s and more\n',
)

story(
  'typed-blocks',
  'Text\n',
  async (page) => {
    await press(page, ...END, 'Enter')
    await type(page, '- one')
    await press(page, 'Enter', 'Tab')
    await type(page, 'below')
    await press(page, 'Enter', 'Enter', 'Enter')
    await type(page, '> quote')
    await press(page, 'Enter', 'Enter')
    await type(page, '**bold** and `code` end')
  },
  'Text\n\n- one\n  - below\n\n> quote\n\n**bold** and `code` end\n',
)

story(
  'embed-typed',
  'Text\n',
  async (page) => {
    await press(page, ...END, 'Enter')
    await type(page, '![[embed-typed]]')
    const shown = page.getByRole('group', { name: 'Embedded file embed-typed.md' })
    await shown.locator('.embed-note', { hasText: '3 lines' }).waitFor()
    await press(page, 'Home')
    await type(page, 'No ')
    await shown.waitFor({ state: 'detached' })
    await press(page, 'Backspace', 'Backspace', 'Backspace')
    await shown.waitFor()
  },
  'Text\n\n![[embed-typed]]\n',
)

story(
  'others-meanwhile',
  '```\ncode\n```\n',
  async (page, stage) => {
    await page.click('.ProseMirror pre')
    await press(page, 'End', 'ArrowDown')
    writeFileSync(join(stage.directory, 'others-meanwhile.md'), '# Top\n\n```\ncode\n```\n')
    await page.locator('.ProseMirror h1').waitFor()
    await type(page, 'After')
  },
  '# Top\n\n```\ncode\n```\n\nAfter\n',
)

const offered = (page) => page.evaluate(() => window.harness.handle.actions().map(({ id }) => id))

if (profile === 'commonmark') {
  // CommonMark has no footnotes: they are text, and the editor offers none.
  story(
    'footnote-text',
    'One[^1] two.\n\n[^1]: A note.\n',
    async (page) => {
      const actions = await offered(page)
      assertEqual([actions.includes('bold'), actions.includes('footnote')], [true, false], 'offers')
      await page.locator('.ProseMirror p', { hasText: '[^1]: A note.' }).waitFor()
      await press(page, 'Control+Alt+f', ...END)
      await type(page, ' More.')
    },
    'One[^1] two.\n\n[^1]: A note. More.\n',
  )
}

if (profile === 'gfm') {
  story(
    'footnote-key',
    'One two\n',
    async (page) => {
      await press(page, ...END, 'Control+Alt+f')
      await type(page, 'The note.')
      await press(page, 'Control+z', 'Control+z')
      await page.locator('.footnote').waitFor({ state: 'detached' })
      assertEqual(await page.locator('.footnote-reference').count(), 0, 'references after undo')
      await press(page, 'Control+y', 'Control+y')
    },
    'One two[^1]\n\n[^1]: The note.\n',
  )
  story(
    'footnote-next',
    'A[^1] b[^x]\n\n[^1]: One.\n\n[^x]: X.\n',
    async (page) => {
      await select(page, ' b')
      await page.evaluate(() =>
        window.harness.handle
          .actions()
          .find(({ id }) => id === 'footnote')
          .run(),
      )
      await type(page, 'Two.')
      assertEqual((await offered(page)).includes('footnote'), false, 'no note in a note')
    },
    'A[^1] b[^2][^x]\n\n[^1]: One.\n\n[^x]: X.\n\n[^2]: Two.\n',
  )
  story(
    'footnote-slash',
    'Text\n',
    async (page) => {
      await press(page, ...END, 'Enter')
      await type(page, '/foot')
      await page.getByRole('option', { name: 'Footnote' }).waitFor()
      await press(page, 'Enter')
      await type(page, 'N')
    },
    'Text\n\n[^1]\n\n[^1]: N\n',
  )
  const notes = `One[^1] two[^n].\n\n${'Words.\n\n'.repeat(40)}[^1]: The *first*.\n\n[^n]: Two\n`
  story(
    'footnote-read',
    notes,
    async (page) => {
      const note = page.getByRole('tooltip')
      const reference = (label) =>
        page.getByRole('button', { name: `Footnote ${label}`, exact: true })
      await reference('1').hover()
      await note.getByText('The first.').waitFor()
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/footnote.png` })
      await press(page, 'Escape')
      await note.waitFor({ state: 'hidden' })
      await reference('n').focus()
      await note.getByText('Two').waitFor()
      const described = await reference('n').getAttribute('aria-describedby')
      assertEqual(described, await note.getAttribute('id'), 'the description')
      // A key leads to the note, and back.
      await press(page, 'Enter')
      const back = (label) => page.getByRole('button', { name: `text of footnote ${label}` })
      const isVisible = (locator) =>
        locator.evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect()
          return top > 0 && bottom < innerHeight
        })
      await until(() => isVisible(back('n')), 'the note in view')
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/footnote-note.png` })
      await type(page, 'Not ')
      await back('n').click()
      await until(() => isVisible(reference('n')), 'the reference in view')
      await type(page, ' more')
      // The caret over a reference shows its note too; Enter goes there.
      await page
        .locator('.ProseMirror p')
        .first()
        .click({ position: { x: 5, y: 10 } })
      await press(page, 'Home', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight')
      await note.getByText('The first.').waitFor()
      await press(page, 'Enter')
      await until(() => isVisible(back('1')), 'the first note in view')
      await type(page, '1 ')
    },
    notes.replace('two[^n]', 'two[^n] more').replace('Two', 'Not Two').replace('The *', '1 The *'),
  )
  const table = '| a | b |\n| - | - |\n| 1 | 2 |\n'
  story(
    'ctrl-end-table',
    table,
    async (page) => {
      await press(page, 'Control+End')
      await type(page, 'After')
    },
    `${table}\nAfter\n`,
  )
  story(
    'below-table',
    table,
    async (page) => {
      await page.locator('.ProseMirror td').first().click()
      await press(page, 'ArrowDown')
      await type(page, '/qu')
      await page.getByRole('option', { name: 'Quote' }).waitFor()
      await press(page, 'Enter')
      await type(page, 'After')
    },
    `${table}\n> After\n`,
  )
  story(
    'tasks',
    'one\n',
    async (page) => {
      await page.click('.ProseMirror p')
      await press(page, 'Control+Alt+9')
    },
    '- [ ] one\n',
  )
}

const only = process.env.STORY
const played = stories.filter(({ name }) => !only || only.split(',').includes(name))

await scenario(
  async (stage) => {
    for (const { name, before } of played) {
      writeFileSync(join(stage.directory, `${name}.md`), before)
    }
    await stage.yfs('init', '--profile', profile)
  },
  async (stage) => {
    const page = await stage.open(null)
    const failures = []
    for (const { name, play, after } of played) {
      await page.evaluate((path) => window.harness.open(path), `/${name}.md`)
      await shows(page, 'richtext')
      await page.locator('.page-bar .format-bar').waitFor()
      await page.evaluate(() => window.harness.handle.focus())
      try {
        if (process.env.QUICK) page.setDefaultTimeout(5000)
        await play(page, stage)
        await saved(page)
        assertEqual(await stage.yfs('cat', `/${name}.md`), after, name)
      } catch (error) {
        failures.push(`${name}: ${error.message}`)
      }
    }
    if (failures.length > 0) throw new Error(failures.join('\n'))
  },
)
