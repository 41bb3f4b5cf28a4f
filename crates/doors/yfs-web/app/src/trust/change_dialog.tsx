// What changed in a file between two of its versions.

import { useEffect, useState } from 'preact/hooks'
import type { EditorWorkspace } from '../documents'
import { DiffView } from '../history/diff_view'
import { diffRows, firstChangedLine } from '../history/text_diff'
import { readVersion } from '../history/versions_api'
import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { nameOf } from '../tree/tree_model'
import './change_dialog.css'

export interface ChangeDialogProps {
  workspace: EditorWorkspace
  path: string
  /** The version before; 0 is the empty file. */
  from: number
  to: number
  /** Who changed it and when. */
  subtitle: string
  /** Opens the file at a line. */
  onOpen?: (line: number | null) => void
  onClose: () => void
}

type Texts = { before: string; after: string } | string | null

export function ChangeDialog(props: ChangeDialogProps) {
  const { workspace, path, from, to, subtitle, onOpen, onClose } = props
  const [texts, setTexts] = useState<Texts>(null)
  useEffect(() => {
    let isGone = false
    const read = async (number: number) => (number < 1 ? '' : readVersion(workspace, path, number))
    Promise.all([read(from), read(to)])
      .then(([before, after]) => {
        const areText = before != null && after != null
        if (!isGone) setTexts(areText ? { before, after } : t('The versions are not text.'))
      })
      .catch((failure: unknown) => {
        const reason = (failure as Error).message
        if (!isGone) setTexts(t('The versions cannot be compared: {reason}', { reason }))
      })
    return () => void (isGone = true)
  }, [path, from, to])
  const isRead = texts !== null && typeof texts !== 'string'
  const line = isRead ? firstChangedLine(diffRows(texts.before, texts.after)) : null
  return (
    <Dialog title={t('Changes of {name}', { name: nameOf(path) })} form="wide" onClose={onClose}>
      <div class="dialog-body">
        <p class="change-subtitle">
          <span class="faint">{subtitle}</span>
          {onOpen !== undefined && (
            <button type="button" onClick={() => onOpen(line)}>
              {t('Open the file there')}
            </button>
          )}
        </p>
        {texts === null && <p class="empty">{t('Comparing…')}</p>}
        {typeof texts === 'string' && <p role="alert">{texts}</p>}
        {isRead && <DiffView {...texts} hasBlocks={/\.(md|markdown)$/i.test(path)} />}
      </div>
    </Dialog>
  )
}
