// Who has access: the links that are valid, with a way to take each back.

import { useState } from 'preact/hooks'
import { language, t } from '../language/translate'
import { report } from '../shell/message'
import type { Session } from '../session/workspace'
import { revokeLink, type SharedLink } from './share_api'

const nameOf = (actor: string): string => actor.slice(actor.indexOf(':') + 1)

function personOf({ actor }: SharedLink): string {
  const name = nameOf(actor)
  return name === '' || name === 'guest' ? t('Anyone with the link') : name
}

const day = (at: number) =>
  new Intl.DateTimeFormat(language.peek(), { dateStyle: 'medium' }).format(at)

const time = (at: number) =>
  new Intl.DateTimeFormat(language.peek(), { dateStyle: 'medium', timeStyle: 'short' }).format(at)

function detailsOf({ made, by, expires, used }: SharedLink): string {
  const parts = [
    made !== undefined && t('made {when} by {name}', { when: day(made), name: nameOf(by ?? '') }),
    expires === undefined ? t('does not end') : t('ends {when}', { when: day(expires) }),
    used === undefined ? t('not opened yet') : t('last seen {when}', { when: time(used) }),
  ]
  return parts.filter((part) => part !== false).join(' · ')
}

interface AccessListProps {
  session: Session
  links: SharedLink[] | null
  onChange: () => void
}

export function AccessList({ session, links, onChange }: AccessListProps) {
  const [asked, setAsked] = useState<string | null>(null)
  if (links === null) return null
  if (links.length === 0) {
    return (
      <p class="empty">{t('No link was made yet. Yours is the one that the server prints.')}</p>
    )
  }
  const revoke = async (id: string) => {
    await report(revokeLink(session, id))
    setAsked(null)
    onChange()
  }
  return (
    <ul class="access">
      {links.map((link) => (
        <li key={link.id}>
          <div class="access-who">
            <strong dir="auto">{personOf(link)}</strong>
            <span>
              {link.rights === 'write' ? t('may edit') : t('may read')}{' '}
              <bdi>{link.path === '/' ? t('the whole workspace') : link.path}</bdi>
            </span>
            <span class="faint">{detailsOf(link)}</span>
          </div>
          {asked === link.id ? (
            <div class="access-question" role="group">
              <span>{t('This link, and those made with it, stop at once.')}</span>
              <button type="button" onClick={() => setAsked(null)}>
                {t('Keep')}
              </button>
              <button type="button" class="is-danger" onClick={() => void revoke(link.id)}>
                {t('Revoke')}
              </button>
            </div>
          ) : (
            <button
              type="button"
              aria-label={t('Revoke the access of {name}', { name: personOf(link) })}
              onClick={() => setAsked(link.id)}
            >
              {t('Revoke')}
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}
