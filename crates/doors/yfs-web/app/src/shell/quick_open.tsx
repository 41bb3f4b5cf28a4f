// Quick open: files by the letters of their paths, and commands after `>`, as in VS Code.

import { useMemo, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { ChoiceDialog, type Choice } from '../look/choice_dialog'
import { best } from '../look/ranking'
import { listCommands } from './commands'
import type { PanelProps } from './panels'
import { recentIds } from './recent'
import { open } from './view_state'

/** How many matches are listed. */
const LIMIT = 50

/** What begins a query for a command. */
const COMMAND_MARK = '>'

export interface QuickOpenProps extends PanelProps {
  /** Whether commands are asked for first. */
  forCommands: boolean
}

function choicesFor(query: string, { session, onClose }: QuickOpenProps): Choice[] {
  if (query.startsWith(COMMAND_MARK)) {
    const commands = listCommands(session)
    const letters = query.slice(COMMAND_MARK.length).trim()
    const found = letters === '' ? commands : best(commands, ({ name }) => name, letters, LIMIT)
    return found.map(({ name, keys, run }) => {
      // The dialog closes first: the command may open another.
      const close = () => {
        onClose()
        run()
      }
      return { label: name, keys, run: close }
    })
  }
  const files = session.entries.peek().filter(({ kind }) => kind !== 'directory')
  if (query === '') {
    const recent = recentIds(session.id).flatMap((id) => session.pathOf(id) ?? [])
    const others = files.map(({ path }) => path).filter((path) => !recent.includes(path))
    const paths = [...recent, ...others.slice(0, LIMIT)].slice(0, LIMIT)
    return paths.map((path) => ({ label: path, run: () => open(session, path) }))
  }
  const found = best(files, ({ path }) => path, query, LIMIT)
  return found.map(({ path }) => ({ label: path, run: () => open(session, path) }))
}

export function QuickOpen(props: QuickOpenProps) {
  const [query, setQuery] = useState(props.forCommands ? COMMAND_MARK : '')
  const choices = useMemo(() => choicesFor(query, props), [query])
  const isCommand = query.startsWith(COMMAND_MARK)
  return (
    <ChoiceDialog
      title={isCommand ? t('Commands') : t('Open a file')}
      field={isCommand ? t('Command') : t('File name')}
      list={isCommand ? t('Commands') : t('Files')}
      placeholder={t('File name, or > and a command')}
      query={query}
      onQuery={setQuery}
      choices={choices}
      onClose={props.onClose}
    />
  )
}
