// The examples of document 000, word for word; only the import is another. Prettier leaves this
// file as it is, so that the examples stay as they are written there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ThreadState } from '../dist/index.js'
import { inMemory } from './support.mjs'

/** The beginning of a PNG of 1920 by 1080 pixels. */
const PNG_HEAD = Buffer.from('89504e470d0a1a0a0000000d4948445200000780000004380802000000', 'hex')

/** A GIF of one white pixel. */
const GIF = Buffer.from('R0lGODdhAQABAIAAAP///////ywAAAAAAQABAAACAkQBADs=', 'base64')

async function thread(t) {
  const ws = await inMemory(t)
  const state = await ws.thread('thread-1')
  assert.ok(state instanceof ThreadState)
  assert.equal(state.id, 'thread-1')
  return state
}

/** Keeps what is printed. */
function printing() {
  const lines = []
  return { console: { log: (...words) => lines.push(words.join(' ')) }, lines }
}

/** Returns all items. */
async function all(items) {
  const found = []
  for await (const item of items) found.push(item)
  return found
}

test('sections 2 and 3: writing and reading', async (t) => {
  const state = await thread(t)
  const imageBuffer = PNG_HEAD
  const { console, lines } = printing()

  // Write a text file
  const record = await state.writeFile(
    '/data/config.json',
    JSON.stringify({ key: 'value' }),
    'application/json'
  );

  // Write a binary file with metadata
  const imageRecord = await state.writeFile(
    '/images/photo.jpg',
    imageBuffer,
    'image/jpeg',
    { width: 1920, height: 1080 }
  );

  assert.deepEqual(record, {
    path: '/data/config.json',
    name: 'config.json',
    mimeType: 'application/json',
    storage: record.storage,
    size: 15,
    isDirectory: false,
    metadata: {},
  })
  assert.match(record.storage, /^yfs:/)
  assert.deepEqual(imageRecord, {
    path: '/images/photo.jpg',
    name: 'photo.jpg',
    mimeType: 'image/jpeg',
    storage: imageRecord.storage,
    size: imageBuffer.length,
    isDirectory: false,
    metadata: { width: 1920, height: 1080 },
    width: 1920,
    height: 1080,
  })

  // Read file content
  const data = await state.readFile('/data/config.json');
  if (data) {
    const text = new TextDecoder().decode(data);
    const config = JSON.parse(text);
    assert.deepEqual(config, { key: 'value' })
  }
  assert.ok(data)

  // Get file metadata without reading content
  const info = await state.statFile('/images/photo.jpg');
  if (info) {
    console.log(`Size: ${info.size} bytes`);
  }
  assert.deepEqual(lines, ['Size: 29 bytes'])
  assert.equal(await state.readFile('/none'), null)
  assert.equal(await state.statFile('/none'), null)
})

test('sections 4 to 6: directories, search, statistics', async (t) => {
  const state = await thread(t)
  await state.writeFile('/data/config.json', '{}')
  await state.writeFile('/documents/deep/log.txt', 'fine\nan error\nerror-code 7\n')
  await state.writeFile('/documents/a.txt', 'nothing')
  {
    const { console, lines } = printing()
    // Create a directory
    await state.mkdirFile('/documents');

    // List directory contents
    const { entries } = await state.readdirFile('/documents');
    for (const entry of entries) {
      console.log(`${entry.isDirectory ? 'DIR' : 'FILE'}: ${entry.name}`);
    }
    assert.deepEqual(lines, ['FILE: a.txt', 'DIR: deep'])
  }
  {
    const { console, lines } = printing()
    // Search file contents
    const grepResults = await state.grepFiles('error');
    for (const result of grepResults) {
      console.log(`${result.path}:`);
      for (const match of result.matches) {
        console.log(`  Line ${match.line}: ${match.content}`);
      }
    }

    // Find files by glob pattern
    const { paths } = await state.findFiles('**/*.json');
    console.log('JSON files:', paths);
    assert.deepEqual(lines, [
      '/documents/deep/log.txt:',
      '  Line 2: an error',
      '  Line 3: error-code 7',
      'JSON files: /data/config.json',
    ])
  }
  {
    const { console, lines } = printing()
    const stats = await state.getFileStats();
    console.log(`Files: ${stats.fileCount}`);
    console.log(`Directories: ${stats.directoryCount}`);
    console.log(`Total size: ${stats.totalSize} bytes`);
    assert.deepEqual(lines, ['Files: 3', 'Directories: 3', 'Total size: 36 bytes'])
  }
  await assert.rejects(() => state.rmdirFile('/documents'), { code: 'ENOTEMPTY' })
  await state.unlinkFile('/documents/a.txt')
  await state.unlinkFile('/documents/deep/log.txt')
  await state.rmdirFile('/documents/deep')

  // Remove an empty directory
  await state.rmdirFile('/documents');

  // Delete a file
  await state.unlinkFile('/data/config.json');

  assert.equal(await state.statFile('/documents'), null)
  assert.equal(await state.readFile('/data/config.json'), null)
  await state.writeFile('/a', 'x')
  assert.equal((await state.moveFile('/a', '/d/b')).path, '/d/b')
  await state.writeFile('/a', 'y')
  await assert.rejects(() => state.moveFile('/a', '/d/b'), { code: 'EEXIST' })
  assert.deepEqual(await state.grepFiles('^[xy]$', { regex: true, include: ['/d/**'] }), [
    { path: '/d/b', matches: [{ line: 1, content: 'x' }] },
  ])
})

test('section 7: thumbnails', async (t) => {
  const state = await thread(t)
  await state.writeFile('/images/photo.jpg', GIF, 'image/gif')
  let used

  const thumbnail = await state.getFileThumbnail('/images/photo.jpg');
  if (thumbnail) {
    // Use thumbnail data
    used = thumbnail
  }

  assert.ok(used instanceof Uint8Array && used.length > 0)
  const whole = await state.getFileThumbnailRecord('/images/photo.jpg', { maxSide: 16 })
  assert.equal(whole.width, 1)
  assert.match(whole.mimeType, /^image\/(png|jpeg)$/)
  assert.equal(await state.getFileThumbnail('/none'), null)
  await state.writeFile('/text', 'no image')
  assert.equal(await state.getFileThumbnail('/text'), null)
  await state.writeFile('/broken.png', PNG_HEAD)
  await assert.rejects(() => state.getFileThumbnail('/broken.png'), { code: 'ERR_YFS_THUMBNAIL' })
})

test('section 8: streams', async (t) => {
  const state = await thread(t)
  const video = Buffer.alloc(700_000, 'frames ')
  await state.writeFile('/uploads/video.mp4', video)
  await state.writeFile('/uploads/large-file.bin', video)
  await state.writeFile('/uploads/small', 'small')
  const pieces = []
  {
    const { console, lines } = printing()
    const stream = await state.readFileStream('/uploads/video.mp4');
    if (!stream) {
      throw new Error('File not found');
    }

    for await (const chunk of stream) {
      console.log(`Progress: ${chunk.index + 1}/${chunk.totalChunks}`);
      // Process chunk.data without loading entire file into memory
      pieces.push(chunk)
    }
    assert.deepEqual(lines, ['Progress: 1/3', 'Progress: 2/3', 'Progress: 3/3'])
  }
  assert.deepEqual(
    pieces.map((chunk) => [chunk.index, chunk.isLast]),
    [
      [0, false],
      [1, false],
      [2, true],
    ],
  )
  assert.ok(Buffer.concat(pieces.map((chunk) => chunk.data)).equals(video))

  const respond = async () => {
    const stream = await state.readFileStream('/uploads/large-file.bin');
    if (!stream) {
      return new Response('Not Found', { status: 404 });
    }

    const readable = new ReadableStream({
      async start(controller) {
        for await (const chunk of stream) {
          controller.enqueue(chunk.data);
        }
        controller.close();
      }
    });

    return new Response(readable, {
      headers: { 'Content-Type': 'application/octet-stream' }
    });
  }
  const response = await respond()
  assert.equal(response.status, 200)
  assert.ok(Buffer.from(await response.arrayBuffer()).equals(video))

  assert.equal(await state.readFileStream('/none'), null)
  await state.linkFile('/away', { url: 's3://bucket/key', size: 12 }, 'text/csv')
  assert.equal(await state.readFileStream('/away'), null)
  const [only] = await all(await state.readFileStream('/uploads/small'))
  assert.deepEqual(
    { ...only, data: Buffer.from(only.data).toString() },
    { data: 'small', index: 0, totalChunks: 1, isLast: true },
  )

  const controller = new AbortController()
  const seen = []
  const { signal } = controller
  for await (const chunk of await state.readFileStream('/uploads/video.mp4', { signal })) {
    seen.push(chunk)
    controller.abort()
  }
  assert.equal(seen.length, 1)
  assert.ok(Buffer.from(seen[0].data).equals(video.subarray(0, seen[0].data.length)))
  const aborted = await state.readFileStream('/uploads/video.mp4', { signal: AbortSignal.abort() })
  assert.deepEqual(await all(aborted), [])
})
