// Pictures of the workspace in a document, previews of files that are not text, and their bytes.

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, paste, saved, scenario, shows, until } from './one_file.mjs'

const [fixtures] = process.argv.slice(2)
const loaded = (image) => image.evaluate(({ complete, naturalWidth }) => complete && naturalWidth)

await scenario(
  ({ directory }) => {
    cpSync(join(fixtures, 'handbook/assets'), join(directory, 'assets'), { recursive: true })
    writeFileSync(
      join(directory, 'page.md'),
      '![Tide](assets/tide-curve.png)\n\n![Gone](assets/no.png)\n\nText.\n',
    )
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

    const large = await stage.open('/large.txt')
    await shows(large, 'text')
    assertEqual(await large.getAttribute('.cm-content', 'contenteditable'), 'false', 'editable')
    await large.getByRole('button', { name: 'Edit anyway' }).click()
    assertEqual(await large.getAttribute('.cm-content', 'contenteditable'), 'true', 'editable')
  },
)
