// The panels above the files. What is not needed in the first minute is loaded when it is opened.

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Session } from '../session/workspace'
import { report } from './message'
import { QuickOpen } from './quick_open'
import { SearchPanel } from './search_panel'
import { panel, type Panel } from './view_state'

export interface PanelProps {
  session: Session
  onClose: () => void
}

type Shown = ComponentType<PanelProps>

/** What is typed at once goes into these, so they are here from the beginning. */
const READY: Partial<Record<Panel, Shown>> = {
  'quick-open': (props) => <QuickOpen {...props} forCommands={false} />,
  commands: (props) => <QuickOpen {...props} forCommands />,
  search: SearchPanel,
}

/** Panels of their own chunks. */
const LOADED: Partial<Record<Panel, () => Promise<Shown>>> = {
  name: async () => (await import('../people/name_panel')).NamePanel,
  share: async () => (await import('../people/share_panel')).SharePanel,
  trash: async () => (await import('./trash_panel')).TrashPanel,
}

const close = () => (panel.value = null)

/** Shows the panel that is open. */
export function OpenPanel({ session }: { session: Session }) {
  const name = panel.value
  const [loaded, setLoaded] = useState<{ name: Panel; Shown: Shown } | null>(null)
  useEffect(() => {
    const load = name === null ? undefined : LOADED[name]
    if (name === null || load === undefined) return
    void report(load().then((Shown) => setLoaded({ name, Shown })))
  }, [name])
  if (name === null) return null
  const Shown = READY[name] ?? (loaded?.name === name ? loaded.Shown : null)
  return Shown === null ? null : <Shown key={name} session={session} onClose={close} />
}
