// The sidebar: where to go, the tree of files, and who is here. On a narrow screen it is a drawer.

import { useEffect, useRef } from 'preact/hooks'
import {
  Activity,
  FilePlus,
  FolderPlus,
  House,
  Menu,
  Search,
  Settings,
  Trash2,
  TriangleAlert,
  X,
  type IconNode,
} from 'lucide'
import { plural, t } from '../language/translate'
import { Icon } from '../look/icon'
import { People } from '../people/avatars'
import type { Session } from '../session/workspace'
import { createNode, FileTree } from '../tree/file_tree'
import { nConflicts } from '../trust/conflict_count'
import { missing, open, openHome, openId, panel, showsActivity, showsDrawer } from './view_state'
import './sidebar.css'

export interface SidebarProps {
  session: Session
  openPath: string | null
}

export function Sidebar({ session, openPath }: SidebarProps) {
  const isHome = openId.value === null && missing.value === null
  const root = useRef<HTMLElement>(null)
  useEffect(() => {
    if (showsDrawer.value) root.current?.querySelector<HTMLElement>('button')?.focus()
  }, [showsDrawer.value])
  return (
    <nav class="sidebar" aria-label={t('Workspace')} ref={root}>
      <header class="sidebar-head">
        <button type="button" class="plain brand" onClick={() => openHome(session)}>
          <img src="/assets/icon.svg" alt="" width="20" height="20" />
          yfs
        </button>
        <button
          type="button"
          class="plain"
          title={t('All commands (F1)')}
          aria-label={t('Commands')}
          onClick={() => (panel.value = 'commands')}
        >
          <Icon of={Menu} />
        </button>
        <button
          type="button"
          class="plain drawer-close"
          aria-label={t('Close the sidebar')}
          onClick={() => (showsDrawer.value = false)}
        >
          <Icon of={X} />
        </button>
      </header>
      <button type="button" class="find-file" onClick={() => (panel.value = 'quick-open')}>
        <Icon of={Search} />
        <span>{t('Find a file')}</span>
        <kbd>{'Ctrl+P'}</kbd>
      </button>
      <div class="places" role="toolbar" aria-label={t('Places')}>
        <Place label={t('Start')} icon={House} isOn={isHome} go={() => openHome(session)} />
        <Place label={t('Search')} icon={Search} go={() => (panel.value = 'search')} />
        <Place
          label={t('Activity')}
          icon={Activity}
          isOn={showsActivity.value}
          go={() => (showsActivity.value = !showsActivity.value)}
        />
        <Place label={t('Trash')} icon={Trash2} go={() => (panel.value = 'trash')} />
        {nConflicts.value > 0 && (
          <Place
            label={plural(nConflicts.value, '1 conflict', '{n} conflicts')}
            icon={TriangleAlert}
            go={() => (panel.value = 'conflicts')}
          />
        )}
      </div>
      <div class="files-head" role="toolbar" aria-label={t('Files')}>
        <h2>{t('Files')}</h2>
        {!session.readOnly && (
          <>
            <Tool label={t('New file')} icon={FilePlus} run={() => createNode(session, 'file')} />
            <Tool
              label={t('New folder')}
              icon={FolderPlus}
              run={() => createNode(session, 'directory')}
            />
          </>
        )}
      </div>
      <FileTree
        session={session}
        openPath={openPath}
        onOpen={(path) => open(session, path)}
        onSharedName={() => (panel.value = 'conflicts')}
      />
      <footer class="sidebar-foot">
        <People session={session} />
        <Tool label={t('Settings')} icon={Settings} run={() => (panel.value = 'settings')} />
      </footer>
    </nav>
  )
}

interface PlaceProps {
  label: string
  icon: IconNode
  /** Whether it is shown now; only of what is switched. */
  isOn?: boolean
  go: () => void
}

function Place({ label, icon, isOn, go }: PlaceProps) {
  return (
    <button type="button" class="place" aria-pressed={isOn} onClick={go}>
      <Icon of={icon} />
      <span>{label}</span>
    </button>
  )
}

function Tool({ label, icon, run }: { label: string; icon: IconNode; run: () => void }) {
  return (
    <button type="button" class="plain" aria-label={label} title={label} onClick={run}>
      <Icon of={icon} />
    </button>
  )
}
