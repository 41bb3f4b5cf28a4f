// The panel in which a person chooses another name.

import { t } from '../language/translate'
import type { PanelProps } from '../shell/panels'
import { NameDialog } from './name_dialog'

export function NamePanel({ session, onClose }: PanelProps) {
  return (
    <NameDialog
      title={t('Change your name')}
      explanation={t('Others see it at your cursor, and it is the author of what you change.')}
      name={session.person.peek().name}
      closing={t('Cancel')}
      onClose={onClose}
      onName={async (name) => {
        await session.rename(name)
        onClose()
      }}
    />
  )
}
