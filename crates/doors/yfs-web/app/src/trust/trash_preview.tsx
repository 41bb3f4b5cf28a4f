// What a node in the trash contains, read by its id, so that nothing is restored for it.

import { useEffect, useState } from 'preact/hooks'
import type { FileRow } from '../documents'
import { blocksOf } from '../history/block_diff'
import { plural, t } from '../language/translate'
import type { Session, TrashEntry } from '../session/workspace'

/** How much of a text is shown. */
const MAX_TEXT = 20_000
const MAX_NAMES = 50

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
}

type Content =
  | { kind: 'text'; text: string; isCut: boolean }
  | { kind: 'image'; url: string }
  | { kind: 'bytes'; size: number }
  | { kind: 'failure'; reason: string }

const endingOf = (name: string) => name.slice(name.lastIndexOf('.') + 1).toLowerCase()

async function readContent(session: Session, entry: TrashEntry): Promise<Content> {
  const response = await session.call('GET', `/api/trash/${encodeURIComponent(entry.id)}`)
  const bytes = await response.arrayBuffer()
  const type = IMAGES[endingOf(entry.name)]
  if (type !== undefined) {
    return { kind: 'image', url: URL.createObjectURL(new Blob([bytes], { type })) }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (text.includes('\0')) return { kind: 'bytes', size: bytes.byteLength }
    return { kind: 'text', text: text.slice(0, MAX_TEXT), isCut: text.length > MAX_TEXT }
  } catch {
    return { kind: 'bytes', size: bytes.byteLength }
  }
}

function useContent(session: Session, entry: TrashEntry): Content | null {
  const [content, setContent] = useState<Content | null>(null)
  useEffect(() => {
    if (entry.kind === 'directory') return
    let isGone = false
    let url: string | null = null
    readContent(session, entry)
      .catch((failure: unknown): Content => {
        return { kind: 'failure', reason: (failure as Error).message }
      })
      .then((read) => {
        if (read.kind === 'image') url = read.url
        if (!isGone) setContent(read)
        else if (url !== null) URL.revokeObjectURL(url)
      })
    return () => {
      isGone = true
      if (url !== null) URL.revokeObjectURL(url)
    }
  }, [entry.id])
  return content
}

/** Returns the names of what is in a directory of the trash. */
function namesIn(rows: Map<string, FileRow>, id: string): string[] {
  const names = [...rows.values()].filter(({ parentId }) => parentId === id)
  return names.map(({ name, type }) => (type === 'folder' ? `${name}/` : name)).sort()
}

function DirectoryPreview({ session, entry }: { session: Session; entry: TrashEntry }) {
  const names = namesIn(session.rows.value, entry.id)
  if (names.length === 0) return <p class="faint">{t('The folder is empty.')}</p>
  return (
    <ul class="trash-names">
      {names.slice(0, MAX_NAMES).map((name) => (
        <li key={name}>{name}</li>
      ))}
      {names.length > MAX_NAMES && (
        <li class="faint">{plural(names.length - MAX_NAMES, 'and 1 more', 'and {n} more')}</li>
      )}
    </ul>
  )
}

function DocumentPreview({ text }: { text: string }) {
  return (
    <div class="trash-document" dir="auto" tabIndex={0} role="region" aria-label={t('Content')}>
      {blocksOf(text).map((block, n) => (
        <p key={n} class={`is-${block.form}`} data-level={block.level}>
          {block.text}
        </p>
      ))}
    </div>
  )
}

export function TrashPreview({ session, entry }: { session: Session; entry: TrashEntry }) {
  const content = useContent(session, entry)
  if (entry.kind === 'directory') return <DirectoryPreview session={session} entry={entry} />
  if (content === null) return <p class="faint">{t('Loading…')}</p>
  switch (content.kind) {
    case 'image':
      return <img class="trash-image" src={content.url} alt={entry.name} />
    case 'bytes':
      return <p class="faint">{t('There is no preview of such a file.')}</p>
    case 'failure':
      return <p role="alert">{t('The preview cannot be read: {reason}', content)}</p>
    case 'text':
      return (
        <>
          {/\.(md|markdown)$/i.test(entry.name) ? (
            <DocumentPreview text={content.text} />
          ) : (
            <pre class="trash-text" tabIndex={0} role="region" aria-label={t('Content')}>
              {content.text}
            </pre>
          )}
          {content.isCut && <p class="faint">{t('The rest is left out here.')}</p>}
        </>
      )
  }
}
