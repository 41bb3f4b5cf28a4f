// Who is here. A click on a person follows them.

import { MoreHorizontal, UserPen } from 'lucide'
import { plural, t } from '../language/translate'
import { Icon } from '../look/icon'
import { openMenuBelow } from '../look/menu'
import type { Session } from '../session/workspace'
import { openId, panel } from '../shell/view_state'
import { Avatar } from './avatar'
import { followed, follow, stopFollowing } from './follow'
import { lastSeenText } from './last_seen'
import { listPeople, type PresentPerson } from './people'

/** How many are shown beside each other. */
const SHOWN = 5

/** Says what a person has open. */
function describe(session: Session, person: PresentPerson): string {
  const path = person.open.map((id) => session.pathOf(id)).find((path) => path !== null)
  const name = person.agent ? t('{name} (agent)', { name: person.name }) : person.name
  return path == null ? name : t('{name}, in {path}', { name, path })
}

/** Adds who saw the open file last. */
const withLastSeen = (session: Session, label: string): string =>
  [label, lastSeenText(session, openId.value)].filter((line) => line !== '').join('\n')

/** Shows who is here, and the person of this page. */
export function People({ session }: { session: Session }) {
  const people = listPeople(session.peers.value)
  const own = session.person.value
  const others = people.filter(({ name, agent }) => agent || name !== own.name)
  const more = others.slice(SHOWN)
  void session.pathsById.value
  return (
    <div class="people avatars" role="group" aria-label={t('People here')}>
      {others.slice(0, SHOWN).map((person) => (
        <PersonButton key={person.key} session={session} person={person} />
      ))}
      {more.length > 0 && (
        <button
          type="button"
          class="plain"
          aria-label={plural(more.length, '1 more person', '{n} more people')}
          onClick={(event) =>
            openMenuBelow(
              event.currentTarget,
              t('People here'),
              more.map((person) => ({
                label: describe(session, person),
                run: () => follow(session, person),
              })),
            )
          }
        >
          <Icon of={MoreHorizontal} />
        </button>
      )}
      <button
        type="button"
        class="avatar-button me"
        title={withLastSeen(
          session,
          session.readOnly ? t('{name} (read-only)', { name: own.name }) : own.name,
        )}
        aria-label={t('You: {name}', { name: own.name })}
        onClick={(event) =>
          openMenuBelow(event.currentTarget, own.name, [
            {
              label: t('Change your name'),
              icon: UserPen,
              isDisabled: !session.canRename,
              run: () => (panel.value = 'name'),
            },
          ])
        }
      >
        <Avatar {...own} agent={false} />
      </button>
      {session.readOnly && <span class="faint read-only">{t('(read-only)')}</span>}
    </div>
  )
}

function PersonButton({ session, person }: { session: Session; person: PresentPerson }) {
  const isFollowed = followed.value?.key === person.key
  const label = describe(session, person)
  return (
    <button
      type="button"
      class="avatar-button"
      style={{ color: person.color }}
      title={withLastSeen(session, label)}
      aria-label={t('Follow {name}', { name: label })}
      aria-pressed={isFollowed}
      onClick={() => (isFollowed ? stopFollowing() : follow(session, person))}
    >
      <Avatar {...person} />
    </button>
  )
}
