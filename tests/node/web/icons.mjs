// Draws the icons of the application from its SVG. The argument is the directory of both.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from './one_file.mjs'

const [directory] = process.argv.slice(2)
const svg = readFileSync(join(directory, 'icon.svg'), 'utf8')
// A launcher that cuts a shape out of an icon keeps its middle: 80% of the width.
const filled = svg.replace('rx="14"', '').replace('viewBox="0 0 64 64"', 'viewBox="4 4 56 56"')
const ICONS = [
  ['icon-192.png', svg, 192],
  ['icon-512.png', svg, 512],
  ['icon-mask-512.png', filled, 512],
  ['icon-touch-180.png', filled, 180],
]

const browser = await launch()
for (const [name, picture, size] of ICONS) {
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  const style = `<style>body{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>`
  await page.setContent(style + picture)
  writeFileSync(join(directory, name), await page.screenshot({ omitBackground: true }))
  await page.close()
}
await browser.close()
