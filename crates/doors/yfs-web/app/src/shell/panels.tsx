// The panels above the files. What is not needed in the first minute is loaded when it is opened.

import type { ComponentType } from 'preact'
import type { Session } from '../session/workspace'
import { SearchPanel } from '../search/search_panel'
import { lazily } from './lazily'
import { QuickOpen } from './quick_open'
import { panel, type Panel } from './view_state'

export interface PanelProps {
  session: Session
  onClose: () => void
}

type Shown = ComponentType<PanelProps>

/** What is typed at once goes into the first three, so they are here from the beginning. */
const PANELS: Record<Panel, Shown> = {
  'quick-open': (props) => <QuickOpen {...props} forCommands={false} />,
  commands: (props) => <QuickOpen {...props} forCommands />,
  search: SearchPanel,
  name: lazily(async () => (await import('../people/name_panel')).NamePanel),
  share: lazily(async () => (await import('../people/share_panel')).SharePanel),
  settings: lazily(async () => (await import('../settings/settings_panel')).SettingsPanel),
  shortcuts: lazily(async () => (await import('./shortcuts_panel')).ShortcutsPanel),
  conflicts: lazily(async () => (await import('../trust/conflicts_panel')).ConflictsPanel),
  trash: lazily(async () => (await import('../trust/trash_panel')).TrashPanel),
}

const close = () => (panel.value = null)

/** Shows the panel that is open. */
export function OpenPanel({ session }: { session: Session }) {
  const name = panel.value
  if (name === null) return null
  const Shown = PANELS[name]
  return <Shown key={name} session={session} onClose={close} />
}
