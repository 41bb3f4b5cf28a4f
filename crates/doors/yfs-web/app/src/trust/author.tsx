// Who changed a file: a person, an agent, or the files on a disk.

import { actorInfo, type ActorKind } from '../history/actors'
import { t } from '../language/translate'
import './author.css'

/** Returns what an author is called beside the name; empty for a person. */
export function kindLabel(kind: ActorKind): string {
  switch (kind) {
    case 'agent':
      return t('agent')
    case 'mirror':
      return t('disk')
    case 'system':
      return t('system')
    default:
      return ''
  }
}

/** Returns a name for sentences: "Ben", "scout (agent)". */
export function nameInText(actor: string | null): string {
  const { kind, name } = actorInfo(actor)
  if (kind === 'unknown' && actor === null) return t('An unknown author')
  const label = kindLabel(kind)
  return label === '' ? name : t('{name} ({kind})', { name, kind: label })
}

export function AuthorMark({ actor }: { actor: string | null }) {
  const { kind, name, color } = actorInfo(actor)
  return (
    <span class="author-mark" data-kind={kind} style={{ '--person': color }} aria-hidden="true">
      {kind === 'agent' ? '✦' : ([...name][0]?.toUpperCase() ?? '?')}
    </span>
  )
}

export function AuthorName({ actor }: { actor: string | null }) {
  const { kind, name } = actorInfo(actor)
  const label = kindLabel(kind)
  return (
    <>
      <b>{actor === null ? t('An unknown author') : name}</b>
      {label !== '' && <span class="author-kind">{label}</span>}
    </>
  )
}

/** The groups of authors that lists are filtered by. */
export type AuthorGroup = 'people' | 'agents' | 'disk'

export function groupOf(actor: string | null): AuthorGroup {
  const { kind } = actorInfo(actor)
  if (kind === 'agent') return 'agents'
  return kind === 'mirror' || kind === 'system' ? 'disk' : 'people'
}

export interface AuthorFilterProps {
  shown: AuthorGroup | null
  onShow: (group: AuthorGroup | null) => void
}

/** Buttons that choose whose changes are listed. */
export function AuthorFilter({ shown, onShow }: AuthorFilterProps) {
  const groups: [AuthorGroup | null, string][] = [
    [null, t('All')],
    ['people', t('People')],
    ['agents', t('Agents')],
    ['disk', t('Disk')],
  ]
  return (
    <div class="segments author-filter" role="group" aria-label={t('Changes of')}>
      {groups.map(([group, label]) => (
        <button
          key={label}
          type="button"
          aria-pressed={group === shown}
          onClick={() => onShow(group)}
        >
          {label}
        </button>
      ))}
    </div>
  )
}
