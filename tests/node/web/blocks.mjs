// Blocks of markdown look like what they mean, and nothing of their look is stored.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, filesOf, scenario, shows, until } from './one_file.mjs'

const ROWS = Array.from({ length: 5000 }, (_, n) => `row ${n},${5000 - n}\n`)
const FILES = {
  'code.md': '```js\nconst x = 1 // one\n```\n\nText.\n',
  'alert.md': '> [!NOTE]\n> Mind this.\n\n> [!WARNING]\n>\n> Take care.\n\nText.\n',
  'tasks.md': '- [ ] open\n- [x] done\n',
  'drawn.md':
    '```mermaid\ngraph TD\n  A --> B\n```\n\n```math\n\\frac{1}{2}\n```\n\n' +
    'Inline $e^{i\\pi}$ here, for $5 and $6.\n\n$$\n\\sum_{n=1}^3 n\n$$\n\nText.\n',
  'wrong.md': '```mermaid\ngraph TD\n  A --\n```\n\nText.\n',
  'image.md': '![A dot](dot.svg "The dot")\n\nText.\n',
  'data.csv': `name,count\n${ROWS.join('')}"a, ""b""",7\n`,
  'dot.svg':
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">' +
    '<rect width="400" height="200" fill="teal"/></svg>\n',
  'wiki.md': 'See [[Other]] and [[sub/Deep|the deep one]] and [[Nowhere]].\n',
}
const EMBEDS = {
  'embeds.md':
    '![Sales](data.csv)\n\n[The code](sub/code.py)\n\n![[dot.svg]]\n\n[Deep](sub/Deep.md)\n\n' +
    'In [a line](sub/code.py).\n\n![](gone.csv)\n',
  'sub/code.py': `${'def f(x): return x\n'.repeat(70)}`,
  'sub/in.md': '![Out](../data.csv)\n\n![[Deep]]\n\n[Code](code.py)\n',
}
const { PICTURES } = process.env

/** A finger has 44 px for the box of a task. */
async function checkByFinger(stage, stored) {
  const viewport = { width: 390, height: 800 }
  const context = await stage.browser.newContext({ viewport, isMobile: true, hasTouch: true })
  const page = await context.newPage()
  const { url, token } = stage.server
  const query = new URLSearchParams({ server: url, token, name: 'Bo', path: '/tasks.md' })
  await page.goto(`${stage.page.url}?${query}`)
  await shows(page, 'richtext')
  const boxes = await page.locator('li[data-item-type="task"]').evaluateAll((items) =>
    items.map((item) => {
      const { left, top, height } = item.getBoundingClientRect()
      return { left, top, height }
    }),
  )
  if (boxes.some(({ left, height }) => left < 44 || height < 44)) {
    throw new Error(`boxes for a finger: ${JSON.stringify(boxes)}`)
  }
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/finger.png` })
  await page.touchscreen.tap(boxes[0].left - 38, boxes[0].top + 38)
  const done = FILES['tasks.md'].replace('[ ]', '[x]')
  await until(async () => (await stored('/tasks.md')) === done, 'the task by a finger')
  await context.close()
}

/** The keys lead to an image and to its field. */
async function describeImage({ page, stored, narrow, picture }) {
  const keys = page.keyboard
  const field = page.getByRole('dialog', { name: 'Image' })
  const select = async () => {
    await page.locator('.ProseMirror p', { hasText: 'Text.' }).click()
    await keys.press('Control+Home')
    await keys.press('ArrowRight')
    const isSelected = await page.locator('.rich-image.ProseMirror-selectednode').count()
    if (isSelected === 0) await keys.press('ArrowLeft')
    await page.locator('.rich-image.ProseMirror-selectednode').waitFor()
  }
  await select()
  await keys.press('Enter')
  await field.waitFor()
  assertEqual(await field.getByLabel('Alternative text').inputValue(), 'A dot', 'the text')
  assertEqual(await field.getByLabel('Caption').inputValue(), 'The dot', 'the caption')
  await picture('image-field')
  await keys.type('A teal [box]')
  await keys.press('Tab')
  await keys.type('Box')
  await keys.press('Tab')
  assertEqual(await field.getByLabel('Width in pixels').inputValue(), '300', 'the width')
  await keys.type('200')
  await keys.press('Enter')
  await field.waitFor({ state: 'detached' })
  const described = '![A teal \\[box\\]|200](dot.svg "Box")\n\nText.\n'
  await until(async () => (await stored('/image.md')) === described, 'the words').catch(async () =>
    assertEqual(await stored('/image.md'), described, 'the words'),
  )
  // One step back; Escape changes nothing; without a caption there is none in the file.
  await keys.press('Control+z')
  await until(async () => (await stored('/image.md')) === narrow, 'the words before')
  await page.locator('.rich-image').hover()
  await page.getByRole('button', { name: 'Text and size of the image' }).click()
  await field.getByLabel('Caption').fill('Never')
  await keys.press('Escape')
  await field.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Text and size of the image' }).click()
  await field.getByLabel('Caption').fill('')
  await keys.press('Enter')
  const bare = narrow.replace(' "The dot"', '')
  await until(async () => (await stored('/image.md')) === bare, 'no caption').catch(async () =>
    assertEqual(await stored('/image.md'), bare, 'no caption'),
  )
}

/** Files alone in a paragraph are shown in it, follow their files, and write nothing. */
async function checkEmbeds({ stage, page, open, picture }) {
  await open('/embeds.md')
  const embed = (name) => page.getByRole('group', { name: `Embedded file ${name}` })
  const note = (name, text) => embed(name).locator('.embed-note', { hasText: text }).waitFor()
  await note('data.csv', 'the first 100 rows')
  assertEqual(await embed('data.csv').locator('tr').count(), 101, 'rows of the table')
  await note('code.py', 'the first 60 lines')
  await embed('code.py').locator('.code-keyword').first().waitFor()
  const drawing = embed('dot.svg').locator('img')
  await until(() => drawing.evaluate((image) => image.naturalWidth === 400), 'the picture')
  await page.locator('.embed.has-problem', { hasText: 'There is no file /gone.csv.' }).waitFor()
  assertEqual(await page.locator('.embed').count(), 4, 'embedded files')
  const boxes = await page
    .locator('.embed')
    .evaluateAll((all) => all.map((one) => one.offsetHeight))
  if (boxes.some((height) => height > 380)) throw new Error(`heights: ${boxes}`)
  await picture('embeds')
  for (const [look, width, scheme] of [
    ['dark', 1200, 'dark'],
    ['phone', 390, 'light'],
  ]) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: scheme })
    await picture(`embeds-${look}`)
  }
  await page.setViewportSize({ width: 1200, height: 800 })
  // The files change.
  await stage.yfs('write', '/sub/code.py', '--content', 'y = 2\n')
  await note('code.py', '1 line')
  await embed('code.py').getByText('y = 2').waitFor()
  await stage.yfs('edit', '/dot.svg', 'width="400"', 'width="300"', '--all')
  await until(() => drawing.evaluate((image) => image.naturalWidth === 300), 'the other picture')
  await stage.yfs('write', '/gone.csv', '--content', 'a,b\n1,2\n')
  await embed('gone.csv').scrollIntoViewIfNeeded()
  await note('gone.csv', '1 row')
  await stage.yfs('edit', '/dot.svg', 'width="300"', 'width="400"', '--all')
  assertEqual(await stage.yfs('cat', '/embeds.md'), EMBEDS['embeds.md'], 'what was only read')
  // The source of a name is there while the caret is in it; the head opens the file.
  const source = page.locator('.ProseMirror p', { hasText: '![[dot.svg]]' })
  const lineHeight = () => source.evaluate((block) => getComputedStyle(block).lineHeight)
  assertEqual(await lineHeight(), '0px', 'the source is hidden')
  await page.locator('.ProseMirror p', { hasText: 'In a line' }).click()
  await page.keyboard.press('Home')
  for (let n = 0; n < 8 && (await lineHeight()) === '0px'; n++)
    await page.keyboard.press('ArrowLeft')
  await until(async () => (await lineHeight()) !== '0px', 'the source')
  const opened = page.evaluate(
    () =>
      new Promise((resolve) =>
        addEventListener('yfs-open-path', (event) => resolve(event.detail.path)),
      ),
  )
  await embed('data.csv').getByRole('button', { name: 'data.csv' }).click()
  assertEqual(await opened, '/data.csv', 'the opened file')
}

/** A token of a directory shows no file outside of it. */
async function checkEmbedsOfPart(stage) {
  const token = (await stage.yfs('--quiet', 'token', 'new', '--path', '/sub')).trim()
  const page = await (await stage.browser.newContext()).newPage()
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(`${stage.server.url}/#token=${token}`)
  await page.locator('[role="treeitem"][title="/sub/in.md"]').click()
  await shows(page, 'richtext')
  const refused = page.locator('.embed.has-problem')
  await refused.filter({ hasText: '../data.csv is outside of what you can see.' }).waitFor()
  await page
    .getByRole('group', { name: 'Embedded file Deep.md' })
    .getByText('Deep.', { exact: true })
    .waitFor()
  const code = page.getByRole('group', { name: 'Embedded file code.py' })
  await code.getByText('y = 2').waitFor()
  await stage.yfs('write', '/sub/code.py', '--content', 'y = 3\n')
  await code.getByText('y = 3').waitFor()
  assertEqual(
    asked.filter((path) => path.includes('data.csv')),
    [],
    'requests for the other file',
  )
  await page.context().close()
}

await scenario(
  async (stage) => {
    for (const [name, text] of Object.entries(FILES)) {
      writeFileSync(join(stage.directory, name), text)
    }
    mkdirSync(join(stage.directory, 'sub'))
    for (const [name, text] of Object.entries(EMBEDS)) {
      writeFileSync(join(stage.directory, name), text)
    }
    writeFileSync(join(stage.directory, 'Other.md'), 'Other.\n')
    writeFileSync(join(stage.directory, 'sub/Deep.md'), 'Deep.\n')
    await stage.yfs('init', '--profile', 'gfm')
  },
  async (stage) => {
    const page = await stage.open(null)
    const keys = page.keyboard
    const { open, stored } = filesOf(stage, page)
    const picture = async (name) => {
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` })
    }

    await open('/code.md')
    await page.waitForSelector('.code-block .code-keyword')
    await page.waitForSelector('.code-block .code-comment')
    await picture('code')
    const chooser = page.getByLabel('Language of the code')
    assertEqual(await chooser.inputValue(), 'js', 'the language')
    await chooser.fill('python')
    await keys.press('Enter')
    await until(async () => (await stored('/code.md')).startsWith('```python\n'), 'the language')
    await page.locator('.code-block code').click()
    await keys.press('Home')
    await keys.press('Tab')
    await keys.press('End')
    await keys.press('Enter')
    await keys.type('y')
    const indented = '```python\n  const x = 1 // one\n  y\n```\n\nText.\n'
    await until(async () => (await stored('/code.md')) === indented, 'the indented code')
    await keys.press('Shift+Tab')
    const back = indented.replace('  y', 'y')
    await until(async () => (await stored('/code.md')) === back, 'the line back')
    await stage.lastContext.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByLabel('Copy the code').click()
    await page.getByLabel('Copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assertEqual(copied, '  const x = 1 // one\ny', 'the copied code')

    // Alerts.
    await open('/alert.md')
    await page.locator('.alert-note .alert-title', { hasText: 'Note' }).waitFor()
    await page.locator('.alert-warning .alert-title', { hasText: 'Warning' }).waitFor()
    await picture('alert')
    await page.locator('.ProseMirror > p').click()
    await keys.press('End')
    await keys.press('Enter')
    await keys.type('/tip')
    await keys.press('Enter')
    await keys.type('A tip.')
    const tip = `${FILES['alert.md']}\n> [!TIP]\n>\n> A tip.\n`
    await until(async () => (await stored('/alert.md')) === tip, 'the new alert').catch(async () =>
      assertEqual(await stored('/alert.md'), tip, 'the new alert'),
    )

    // Diagrams and formulas; the source is there while the caret is in it.
    await open('/drawn.md')
    await page.waitForSelector('.code-preview img')
    await page.waitForSelector('.code-preview .katex')
    await page.waitForSelector('.formula:not(.is-display) .katex')
    await page.waitForSelector('.formula.is-display .katex')
    assertEqual(await page.locator('.formula').count(), 2, 'formulas')
    await page.locator('.ProseMirror p', { hasText: 'Text.' }).click()
    const sources = page.locator('.code-block.is-active')
    await sources.waitFor({ state: 'detached' })
    await picture('drawn')
    assertEqual(await stage.yfs('cat', '/drawn.md'), FILES['drawn.md'], 'what was only read')
    await page.locator('.code-preview img').click()
    await sources.waitFor()
    await keys.press('Control+End')
    await sources.waitFor({ state: 'detached' })
    await page.locator('.formula:not(.is-display)').click()
    await page.locator('.open-source', { hasText: '$e^{i' }).waitFor()
    await keys.press('End')
    await page.locator('.open-source').waitFor({ state: 'detached' })
    await open('/wrong.md')
    await page.locator('.preview-error', { hasText: 'Parse error' }).waitFor()
    await picture('wrong')

    // Wiki links.
    await open('/wiki.md')
    const links = page.locator('.wiki-link')
    assertEqual(await links.allTextContents(), ['Other', 'the deep one', 'Nowhere'], 'wiki links')
    assertEqual(await page.locator('.is-broken').allTextContents(), ['Nowhere'], 'broken links')
    await picture('wiki')
    const opened = page.evaluate(
      () =>
        new Promise((resolve) =>
          addEventListener('yfs-open-path', (event) => resolve(event.detail.path)),
        ),
    )
    await links.nth(1).click()
    assertEqual(await opened, '/sub/Deep.md', 'the opened file')
    await page.locator('.ProseMirror p').click({ position: { x: 500, y: 10 } })
    await keys.press('End')
    await keys.type(' Also [[oth')
    await page.getByRole('option', { name: 'Other' }).waitFor()
    await keys.press('Enter')
    await keys.type(' end')
    const linked = `${FILES['wiki.md'].trim()} Also [[Other]] end\n`
    await until(async () => (await stored('/wiki.md')) === linked, 'the link').catch(async () =>
      assertEqual(await stored('/wiki.md'), linked, 'the completed link'),
    )
    await stage.yfs('write', '/Nowhere.md', '--content', 'Here.')
    await page.locator('.is-broken').waitFor({ state: 'detached' })

    // The boxes of tasks are at one height beside their texts.
    await open('/tasks.md')
    const tops = await page.locator('li[data-item-type="task"]').evaluateAll((items) =>
      items.map((item) => {
        const line = item.querySelector('p').getBoundingClientRect()
        const { top } = getComputedStyle(item, '::before')
        return Math.round(Number.parseFloat(top) + 8.5 - line.height / 2)
      }),
    )
    assertEqual(tops, [0, 0], 'boxes in the middle of their lines')
    await picture('tasks')
    await checkByFinger(stage, stored)

    // Images have a width, a caption, and a large view.
    await open('/image.md')
    const image = page.locator('.rich-image img')
    await until(() => image.evaluate((image) => image.naturalWidth === 400), 'the image')
    assertEqual(await page.locator('.rich-image-caption').textContent(), 'The dot', 'a caption')
    await image.hover()
    await picture('image')
    const { x, y, width, height } = await image.boundingBox()
    await page.mouse.move(x + width - 5, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + width - 105, y + height / 2, { steps: 4 })
    await page.mouse.up()
    const narrow = FILES['image.md'].replace('A dot', 'A dot|300')
    await until(async () => (await stored('/image.md')) === narrow, 'the width').catch(async () =>
      assertEqual(await stored('/image.md'), narrow, 'the width'),
    )
    assertEqual((await image.boundingBox()).width, 300, 'the shown width')
    assertEqual(await image.getAttribute('alt'), 'A dot', 'the text without the width')
    await image.click({ position: { x: 50, y: 50 } })
    await page.locator('.image-dialog img').waitFor()
    await picture('large')
    await keys.press('Escape')
    await page.locator('.image-dialog').waitFor({ state: 'detached' })

    await describeImage({ page, stored, narrow, picture })
    // A drawing is shown as it is now.
    await stage.yfs('edit', '/dot.svg', 'width="400"', 'width="500"', '--all')
    await until(() => image.evaluate((image) => image.naturalWidth === 500), 'the wider drawing')
    await stage.yfs('edit', '/dot.svg', 'width="500"', 'width="400"', '--all')
    await until(() => image.evaluate((image) => image.naturalWidth === 400), 'the drawing before')

    await checkEmbeds({ stage, page, open, picture })
    await checkEmbedsOfPart(stage)

    // Tables and pictures of text.
    await page.evaluate(() => window.harness.open('/data.csv'))
    await shows(page, 'text')
    await page.getByRole('button', { name: 'Table', exact: true }).click()
    await shows(page, 'preview')
    const firstRow = () => page.locator('.table-preview-row').first().locator('span')
    const isFirst = (column, text) =>
      until(async () => (await firstRow().nth(column).textContent()) === text, `${text} first`)
    await isFirst(1, 'row 0')
    await picture('csv')
    const counts = page.getByRole('button', { name: 'count' })
    await counts.click()
    await isFirst(2, '1')
    await counts.click()
    await isFirst(2, '5000')
    await counts.click()
    await page.locator('.table-preview').evaluate((table) => (table.scrollTop = 1e9))
    await page.getByRole('cell', { name: 'a, "b"' }).waitFor()
    const nRows = await page.locator('.table-preview-row').count()
    if (nRows > 100) throw new Error(`${nRows} rows exist`)
    await stage.yfs('append', '/data.csv', '--content', 'last,8\n')
    await page.locator('.table-preview-note', { hasText: '5,002 rows' }).waitFor()
    await page.evaluate(() => window.harness.open('/dot.svg'))
    await shows(page, 'text')
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    const drawing = page.locator('.svg-preview img')
    await until(() => drawing.evaluate((image) => image.naturalWidth === 400), 'the picture')
    await picture('svg')
  },
)
