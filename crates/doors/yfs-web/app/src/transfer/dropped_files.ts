// The files of what was dropped, with all that is in the directories among them.

import type { NamedFile } from './upload_queue'

function readBatch(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject))
}

async function readDirectory(entry: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = entry.createReader()
  const found: FileSystemEntry[] = []
  // A browser lists 100 at a time.
  for (;;) {
    const batch = await readBatch(reader)
    if (batch.length === 0) return found
    found.push(...batch)
  }
}

/** Lists the files, with their paths below what was dropped. An empty directory has no file. */
export async function listEntries(
  entries: readonly FileSystemEntry[],
  above = '',
): Promise<NamedFile[]> {
  const files: NamedFile[] = []
  for (const entry of entries) {
    const name = `${above}${entry.name}`
    if (entry.isDirectory) {
      const inside = await readDirectory(entry as FileSystemDirectoryEntry)
      if (inside.length === 0) files.push({ name, file: null })
      files.push(...(await listEntries(inside, `${name}/`)))
    } else {
      const read = (entry as FileSystemFileEntry).file.bind(entry)
      files.push({ name, file: await new Promise<File>(read) })
    }
  }
  return files
}
