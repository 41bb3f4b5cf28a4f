// Uploads and downloads: dropped files and directories, names that are taken, a connection that is
// lost on the way, pause, cancel; a file and an archive on the disk of the person.

import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { assertEqual, scenario, shows, textOf, until } from './one_file.mjs'

const SIZE = 20 << 20
const row = (page, path) => page.locator(`[role="treeitem"][title="${path}"]`)
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex')

async function choose(page, path, label) {
  await row(page, path).click({ button: 'right' })
  await page.getByRole('menuitem', { name: label }).click()
}

/** Chooses files of the disk by the menu of a directory. */
async function upload(page, directory, files, label = 'Upload files') {
  const chooser = page.waitForEvent('filechooser')
  await choose(page, directory, label)
  await (await chooser).setFiles(files)
}

async function download(page, path) {
  const begun = page.waitForEvent('download')
  await choose(page, path, 'Download')
  return begun
}

/** Drops a file with a text. */
async function drop(target, name, type, text) {
  const transfer = await target.page().evaluateHandle(
    ([name, type, text]) => {
      const made = new DataTransfer()
      made.items.add(new File([text], name, { type }))
      return made
    },
    [name, type, text],
  )
  const { x, y, width, height } = await target.boundingBox()
  const at = { clientX: x + width / 2, clientY: y + height / 2 }
  await target.dispatchEvent('drop', { dataTransfer: transfer, ...at })
}

await scenario(
  ({ directory }) => {
    mkdirSync(join(directory, 'inbox'))
    writeFileSync(join(directory, 'inbox/taken.txt'), 'old\n')
    writeFileSync(join(directory, 'page.md'), '# Page\n\nText.\n')
  },
  async (stage) => {
    const local = join(stage.directory, '..', `${basename(stage.directory)}-local`)
    mkdirSync(join(local, 'album/inner'), { recursive: true })
    writeFileSync(join(local, 'album/inner/photo.txt'), 'photo\n')
    writeFileSync(join(local, 'taken.txt'), 'new\n')
    const large = Buffer.alloc(SIZE)
    for (let at = 0; at < SIZE; at += 4) large.writeUInt32LE((at * 2654435761) >>> 0, at)
    writeFileSync(join(local, 'large.bin'), large)

    const context = await stage.browser.newContext({ viewport: { width: 1200, height: 800 } })
    const page = await context.newPage()
    page.on('pageerror', ({ stack }) => stage.errors.push(stack))
    await page.goto(`${stage.server.url}/#token=${stage.server.token}`)
    await row(page, '/inbox').waitFor()
    const panel = page.getByRole('region', { name: 'Uploads' })

    // A file that is dropped on a directory goes into it.
    await drop(row(page, '/inbox'), 'dropped.pdf', 'application/pdf', '%PDF-1.4 dropped')
    await row(page, '/inbox/dropped.pdf').waitFor()
    assertEqual(
      await stage.yfs('cat', '/inbox/dropped.pdf'),
      '%PDF-1.4 dropped',
      'what was dropped',
    )

    // A name that is taken is asked about once.
    await upload(page, '/inbox', join(local, 'taken.txt'))
    await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).click()
    await row(page, '/inbox/taken (1).txt').waitFor()
    assertEqual(await stage.yfs('cat', '/inbox/taken.txt'), 'old\n', 'the file that was there')
    await upload(page, '/inbox', join(local, 'taken.txt'))
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    await until(async () => (await stage.yfs('cat', '/inbox/taken.txt')) === 'new\n', 'the new one')

    // A directory comes with what is in it.
    await upload(page, '/inbox', join(local, 'album'), 'Upload a folder')
    await row(page, '/inbox/album').click()
    await row(page, '/inbox/album/inner').click()
    await row(page, '/inbox/album/inner/photo.txt').waitFor()

    // A large file survives a lost connection, and goes on where it was.
    let n_sent = 0
    const offsets = []
    await context.route('**/api/uploads/*', async (route) => {
      const request = route.request()
      if (request.method() !== 'PATCH') return route.continue()
      offsets.push(Number(request.headers()['upload-offset']))
      n_sent += 1
      return n_sent === 2 ? route.abort('connectionreset') : route.continue()
    })
    await upload(page, '/inbox', join(local, 'large.bin'))
    await row(page, '/inbox/large.bin').waitFor()
    const piece = 8 << 20
    assertEqual(offsets, [0, piece, piece, 2 * piece], 'where it went on')
    await context.unroute('**/api/uploads/*')
    await panel.getByText('Uploaded').waitFor()

    // Paused, resumed, canceled: nothing half is visible.
    await context.route('**/api/uploads/*', async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue()
      // It stays on its way.
    })
    await page.getByRole('button', { name: 'Close' }).click()
    writeFileSync(join(local, 'half.bin'), large)
    await upload(page, '/inbox', join(local, 'half.bin'))
    await panel.getByRole('button', { name: 'Pause half.bin' }).click()
    await panel.getByText('Paused').waitFor()
    await panel.getByRole('button', { name: 'Resume half.bin' }).click()
    await panel.getByRole('button', { name: 'Cancel half.bin' }).click()
    await panel.waitFor({ state: 'detached' })
    await context.unroute('**/api/uploads/*')
    const names = await stage.yfs('ls', '/inbox')
    assertEqual(names.includes('half'), false, 'no half file')

    // A file, and a directory as an archive.
    const file = await download(page, '/inbox/large.bin')
    assertEqual(file.suggestedFilename(), 'large.bin', 'the name of the file')
    assertEqual(hash(readFileSync(await file.path())), hash(large), 'the content')
    const archive = await download(page, '/inbox')
    assertEqual(archive.suggestedFilename(), 'inbox.zip', 'the name of the archive')
    const script =
      'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; ' +
      'print("\\n".join(sorted(n for n in z.namelist() if not n.endswith("/"))))'
    const path = await archive.path()
    const listed = execFileSync('python3', ['-c', script, path], { encoding: 'utf8' })
    assertEqual(
      listed.trim().split('\n'),
      [
        'inbox/album/inner/photo.txt',
        'inbox/dropped.pdf',
        'inbox/large.bin',
        'inbox/taken (1).txt',
        'inbox/taken.txt',
      ],
      'the files in it',
    )

    // A file that is dropped on a page is stored beside it, and linked.
    await row(page, '/page.md').click()
    await shows(page, 'richtext')
    await drop(page.locator('.ProseMirror p').first(), 'paper.zip', 'application/zip', 'PK')
    await row(page, '/paper.zip').waitFor()
    await until(async () => (await textOf(page)).includes('paper.zip'), 'the link')
    await until(
      async () => (await stage.yfs('cat', '/page.md')).includes('[paper.zip](paper.zip)'),
      'the link in the file',
    )
  },
)
