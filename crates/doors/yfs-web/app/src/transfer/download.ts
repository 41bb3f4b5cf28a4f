// Downloads: the server gives an address that works once, and the browser streams it to the disk.

import type { Session } from '../session/workspace'

/** Downloads a file under its name, a directory or several nodes as a ZIP archive. */
export async function download(session: Session, paths: readonly string[]): Promise<void> {
  const about = paths.length === 1 ? paths[0] : undefined
  const answer = await session.call('POST', '/api/downloads', { paths }, about)
  const { id, name } = (await answer.json()) as { id: string; name: string }
  const link = document.createElement('a')
  link.href = `/api/downloads/${id}`
  link.download = name
  document.body.append(link)
  link.click()
  link.remove()
}
