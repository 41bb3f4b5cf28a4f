// Opening files writes nothing: `node opening.mjs PROFILE FIXTURES`.
//
// Opens all files of the handbook and all different examples of the CommonMark and GFM
// specifications, each in the editor that it gets, and counts the updates of its document; the
// server's logs have no new version of any file at the end.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertEqual, scenario, until } from './one_file.mjs'

const [profile, fixtures] = process.argv.slice(2)
let nFiles = 0

function writeExamples(directory) {
  mkdirSync(join(directory, 'spec'))
  // Most examples stand in both.
  const written = new Set()
  for (const name of ['commonmark', 'gfm']) {
    const lines = readFileSync(join(fixtures, `markdown/${name}.jsonl`), 'utf8')
      .trim()
      .split('\n')
    for (const [n, line] of lines.entries()) {
      const { md } = JSON.parse(line)
      if (written.has(md)) continue
      written.add(md)
      writeFileSync(join(directory, 'spec', `${name}-${n}.md`), md)
      nFiles += 1
    }
  }
}

/** Opens each file in the page; returns what was not as it should be. */
const openAll = (page, files) =>
  page.evaluate(async (files) => {
    const wrong = []
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    const isShown = (editor) => document.querySelector(`[data-editor="${editor}"]`) !== null
    for (const { path, guid, root } of files) {
      const { doc } = window.harness.acquire(guid)
      const updates = []
      // Only the editor's own changes have no provider as origin.
      const count = (update, origin) => {
        if (origin?.doc !== doc) updates.push(update.length)
      }
      doc.on('update', count)
      window.harness.open(path)
      const expected = root ?? 'blob'
      const deadline = performance.now() + 600_000
      while (!isShown(expected) && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      // y-prosemirror and Milkdown put some of their work off to a frame or a timer.
      await frame()
      await frame()
      await new Promise((resolve) => setTimeout(resolve))
      const editor = document.querySelector('.file-editor').dataset.editor
      const notices = document.querySelector('.editor-notices').textContent
      const isSource = document.querySelector('.source-view') !== null
      if (updates.length > 0 || editor !== expected || notices !== '' || isSource) {
        wrong.push({ path, updates, editor, expected, notices, isSource })
      }
      doc.off('update', count)
      window.harness.release(guid)
    }
    return wrong
  }, files)

await scenario(
  async (stage) => {
    cpSync(join(fixtures, 'handbook'), join(stage.directory, 'handbook'), { recursive: true })
    writeExamples(stage.directory)
    await stage.yfs('init', '--profile', profile)
  },
  async (stage) => {
    const tree = async () => (await (await stage.fetch('/api/tree')).json()).entries
    const files = await until(async () => {
      const found = (await tree()).filter(({ kind }) => kind === 'file')
      return found.filter(({ path }) => path.startsWith('/spec/')).length === nFiles && found
    }, 'the import of all files')
    const versions = async () => {
      const counts = []
      for (const { path } of files) {
        const route = path.split('/').map(encodeURIComponent).join('/')
        const response = await stage.fetch(`/api/versions${route}`)
        const answer = await response.json()
        if (!response.ok) throw new Error(`versions of ${path}: ${JSON.stringify(answer)}`)
        counts.push([path, answer.versions.length])
      }
      return counts
    }
    const before = await versions()
    const page = await stage.open(null)
    const wrong = await openAll(page, files)
    if (wrong.length > 0) {
      const lines = wrong.slice(0, 20).map((failure) => JSON.stringify(failure))
      throw new Error(`${wrong.length} of ${files.length} files:\n${lines.join('\n')}`)
    }
    assertEqual(await versions(), before, 'the versions of all files')
    console.log(`${files.length} files in ${profile}: no write`)
  },
)
