// Pictures of the workspace in a document, previews of files that are not text, and their bytes;
// notebooks, whose outputs run nothing.

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, paste, saved, scenario, shows, until } from './one_file.mjs'

const [fixtures] = process.argv.slice(2)
const { PICTURES } = process.env

const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const ATTACK = '<img src="x" onerror="window.hacked = 1"><script>window.hacked = 2</script>'
const output = (data) => ({ output_type: 'display_data', data, metadata: {} })
const NOTEBOOK = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { language_info: { name: 'python' } },
  cells: [
    {
      cell_type: 'markdown',
      source: [
        '# Tides\n',
        `Some *words*, ${ATTACK} [bad](javascript:alert(1)) and [good](https://example.org).\n\n`,
        '| a | b |\n| - | - |\n| 1 | 2 |\n\n![dot](attachment:my%20dot.png)',
      ],
      attachments: { 'my dot.png': { 'image/png': DOT } },
    },
    {
      cell_type: 'code',
      execution_count: 3,
      source: 'def f(x):\n    return x',
      outputs: [
        { output_type: 'stream', name: 'stdout', text: 'long '.repeat(400_000) },
        { output_type: 'stream', name: 'stderr', text: ['careful\n'] },
        output({ 'image/png': DOT, 'text/plain': 'a dot' }),
        output({
          'text/html': [
            '<style>*{color:red}</style>',
            '<table style="position:fixed" onclick="window.hacked=3">',
            '<tr><td colspan="2">A cell</td></tr></table>',
            `${ATTACK}<a href="javascript:window.hacked=4">here</a>`,
          ].join(''),
        }),
        output({ 'text/html': `<script>draw()</script>`, 'text/plain': 'Figure(1)' }),
        output({ 'application/vnd.x+json': {} }),
        {
          output_type: 'error',
          ename: 'ValueError',
          evalue: 'no',
          traceback: ['\u001b[0;31mValueError\u001b[0m: no'],
        },
      ],
    },
    { cell_type: 'raw', source: 'Raw text' },
  ],
}

/** A notebook is a page of cells; its source is its JSON. */
async function checkNotebook(stage) {
  const page = await stage.open('/tides.ipynb')
  const asked = []
  page.on('request', (request) => asked.push(request.url()))
  await shows(page, 'preview')
  const notebook = page.getByRole('region', { name: 'Notebook tides.ipynb' })
  await notebook.getByRole('status').filter({ hasText: '3 cells' }).waitFor()
  await notebook.getByRole('heading', { name: 'Tides' }).waitFor()
  await until(() => loaded(notebook.getByAltText('dot', { exact: true })), 'the attached image')
  await until(() => loaded(notebook.getByAltText('a dot')), 'the image of an output')
  await notebook.getByRole('cell', { name: 'A cell' }).waitFor()
  await notebook.locator('.notebook-source .code-keyword').first().waitFor()
  await notebook.getByText('[3]').waitFor()
  await notebook.getByText('1,980,000 more characters').waitFor()
  await notebook.getByText('Figure(1)').waitFor()
  await notebook.getByText('not shown here: application/vnd.x+json').waitFor()
  const error = notebook.getByRole('group', { name: 'Error' })
  assertEqual(await error.textContent(), 'ValueError: no', 'the error without its colors')
  // Nothing of it runs, loads or styles.
  const harm = await notebook.evaluate((root) => {
    const all = [...root.querySelectorAll('*')]
    const names = all.flatMap(({ attributes }) => [...attributes].map(({ name }) => name))
    return {
      hacked: window.hacked,
      elements: root.querySelectorAll('script, style, iframe, form').length,
      attributes: names.filter((name) => /^on|^style$/.test(name)),
      links: [...root.querySelectorAll('a[href]')].map(({ href }) => href),
    }
  })
  const harmless = { elements: 0, attributes: [], links: ['https://example.org/'] }
  assertEqual(harm, harmless, 'what came with the outputs')
  assertEqual(
    asked.filter((url) => url.endsWith('/x')),
    [],
    'requests of outputs',
  )
  if (PICTURES) {
    await page.screenshot({ path: `${PICTURES}/notebook.png` })
    await notebook.evaluate((root) => root.querySelector('.is-error').scrollIntoView())
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.screenshot({ path: `${PICTURES}/notebook-dark.png` })
    await page.setViewportSize({ width: 390, height: 800 })
    await notebook.evaluate((root) => root.scrollTo(0, 0))
    await page.screenshot({ path: `${PICTURES}/notebook-phone.png` })
  }
  // It follows the file, and stays while the JSON is broken.
  await stage.yfs('edit', '/tides.ipynb', '# Tides', '# Currents')
  await notebook.getByRole('heading', { name: 'Currents' }).waitFor()
  await page.getByRole('button', { name: 'Source', exact: true }).click()
  await shows(page, 'text')
  await page.locator('.cm-content', { hasText: 'nbformat_minor' }).waitFor()
  await page.getByRole('button', { name: 'Notebook', exact: true }).click()
  await shows(page, 'preview')
  // A line that a search found is one of the source.
  await page.evaluate(() => window.harness.handle.reveal(1))
  await shows(page, 'text')
  await page.getByRole('button', { name: 'Notebook', exact: true }).click()
  await notebook.getByRole('heading', { name: 'Currents' }).waitFor()
  await stage.yfs('append', '/tides.ipynb', '--content', 'no JSON')
  await notebook.getByRole('status').filter({ hasText: 'not a complete notebook yet' }).waitFor()
  await notebook.getByRole('heading', { name: 'Currents' }).waitFor()
}
const loaded = (image) => image.evaluate(({ complete, naturalWidth }) => complete && naturalWidth)

await scenario(
  ({ directory }) => {
    cpSync(join(fixtures, 'handbook/assets'), join(directory, 'assets'), { recursive: true })
    writeFileSync(
      join(directory, 'page.md'),
      '![Tide](assets/tide-curve.png)\n\n![Gone](assets/no.png)\n\nText.\n',
    )
    writeFileSync(join(directory, 'tides.ipynb'), JSON.stringify(NOTEBOOK))
    const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256)
    writeFileSync(join(directory, 'data.bin'), bytes)
    writeFileSync(join(directory, 'large.txt'), 'A line of a large file.\n'.repeat(100_000))
  },
  async (stage) => {
    const page = await stage.open('/page.md')
    await shows(page, 'richtext')
    await until(() => loaded(page.locator('.rich-image img').first()), 'the picture')
    await until(() => page.locator('.rich-image.is-missing').count(), 'the missing picture')

    // A picture that is pasted becomes a file beside the document.
    await page.click('.ProseMirror p:last-of-type')
    await page.keyboard.press('Control+End')
    const bytes = readFileSync(join(fixtures, 'handbook/assets/tide-curve.png'))
    await paste(page, {}, [{ name: 'dot one.png', type: 'image/png', bytes: [...bytes] }])
    await until(() => loaded(page.locator('img[alt="dot one.png"]')), 'the pasted picture')
    await saved(page)
    const source = await stage.yfs('cat', '/page.md')
    if (!/!\[dot one\.png\]\(<?dot(%20| )one\.png>?\)/.test(source)) throw new Error(source)
    const { size } = await (await stage.fetch('/api/stat/dot%20one.png')).json()
    if (!(size > 0)) throw new Error('the pasted picture has no file')

    const image = await stage.open('/assets/tide-curve.png')
    await shows(image, 'blob')
    await until(() => loaded(image.locator('.blob-content img')), 'the preview')
    await image.getByRole('button', { name: 'Bytes' }).click()
    const hexOf = image.locator('.hex-view pre')
    await until(async () => (await hexOf.textContent()).includes('89 50 4e 47'), 'its bytes')

    const data = await stage.open('/data.bin')
    await shows(data, 'blob')
    const hex = data.locator('.hex-view pre')
    await until(async () => (await hex.textContent()).startsWith('00000000  00 07 0e'), 'bytes')
    await data.evaluate(() => document.querySelector('.hex-view').scrollTo(0, 1e9))
    await until(async () => (await hex.textContent()).includes('00018690  '), 'the last line')

    await checkNotebook(stage)

    const large = await stage.open('/large.txt')
    await shows(large, 'text')
    assertEqual(await large.getAttribute('.cm-content', 'contenteditable'), 'false', 'editable')
    await large.getByRole('button', { name: 'Edit anyway' }).click()
    assertEqual(await large.getAttribute('.cm-content', 'contenteditable'), 'true', 'editable')
  },
)
