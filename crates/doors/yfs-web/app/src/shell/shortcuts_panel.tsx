// The sheet of keys: those of the application and those of the editors.

import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { listCommands } from './commands'
import type { PanelProps } from './panels'
import './shortcuts_panel.css'

type Keys = [string, string][]

const writing = (): Keys => [
  ['Ctrl+B', t('Bold')],
  ['Ctrl+I', t('Italic')],
  ['Ctrl+E', t('Code')],
  ['Ctrl+K', t('Link')],
  ['Ctrl+Alt+1 … 6', t('Heading of a level')],
  ['Ctrl+Alt+0', t('Paragraph')],
  ['/', t('Insert a block, at the beginning of a line')],
  ['Tab', t('Deeper in a list, next cell of a table')],
  ['Ctrl+Enter', t('Leave a code block')],
  ['Ctrl+Shift+O', t('Go to a symbol')],
  ['Ctrl+\\', t('Rich text and source side by side')],
  ['Ctrl+Z', t('Undo what you did')],
]

const code = (): Keys => [
  ['Ctrl+F', t('Find')],
  ['Ctrl+D', t('Select the next occurrence')],
  ['Alt+↑ Alt+↓', t('Move lines')],
  ['Ctrl+G', t('Go to a line')],
  ['Ctrl+Shift+O', t('Go to a symbol')],
  ['Ctrl+/', t('Comment lines')],
  ['Alt+F5', t('Next change')],
  ['Shift+Alt+F5', t('Previous change')],
  ['Alt+F3', t('Show what was changed in this line')],
]

export function ShortcutsPanel({ session, onClose }: PanelProps) {
  const everywhere: Keys = listCommands(session).flatMap(({ keys, name }) =>
    keys === undefined ? [] : [[keys, name]],
  )
  return (
    <Dialog title={t('Keyboard shortcuts')} onClose={onClose} form="wide">
      <div class="shortcuts" tabIndex={0} role="region" aria-label={t('Keyboard shortcuts')}>
        <Group title={t('Everywhere')} keys={[['F1', t('Commands')], ...everywhere]} />
        <Group title={t('Documents')} keys={writing()} />
        <Group title={t('Text and code')} keys={code()} />
      </div>
    </Dialog>
  )
}

function Group({ title, keys }: { title: string; keys: Keys }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {keys.map(([key, name]) => (
          <div key={key}>
            <dt>{name}</dt>
            <dd>
              <kbd>{key}</kbd>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
