// The panel that makes links for others, lists who has access, and takes access away.

import { Copy, Link as LinkIcon } from 'lucide'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import type { PanelProps } from '../shell/panels'
import { openId } from '../shell/view_state'
import { AccessList } from './access_list'
import { addressOf, listLinks, makeLink, type SharedLink } from './share_api'
import './share_panel.css'

const DAY_MS = 24 * 60 * 60 * 1000
const DAYS = { day: 1, week: 7, month: 30 } as const

type Expiry = keyof typeof DAYS | 'never' | 'date'

/** The paths that a link may be for: the open document, its directory, and all that one may see. */
function scopesOf(path: string | null, scope: string): { path: string; label: string }[] {
  const parent = path === null ? null : path.slice(0, path.lastIndexOf('/')) || '/'
  const scopes: { path: string; label: string }[] = []
  if (path !== null) scopes.push({ path, label: t('This document: {path}', { path }) })
  const isBelow = parent !== null && (scope === '/' || `${parent}/`.startsWith(`${scope}/`))
  if (isBelow && parent !== '/' && parent !== scope)
    scopes.push({ path: parent, label: t('Its directory: {path}', { path: parent }) })
  const whole =
    scope === '/' ? t('The whole workspace') : t('All that you see: {path}', { path: scope })
  if (scope !== path) scopes.push({ path: scope, label: whole })
  return scopes
}

function timeOf(expiry: Expiry, date: string): number | null {
  if (expiry === 'never') return null
  if (expiry === 'date') return new Date(`${date}T23:59:59`).getTime()
  return Date.now() + DAYS[expiry] * DAY_MS
}

export function SharePanel({ session, onClose }: PanelProps) {
  const [links, setLinks] = useState<SharedLink[] | null>(null)
  const [made, setMade] = useState<SharedLink | null>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const attempt = (call: Promise<void>) =>
    call.then(
      () => setFailure(null),
      (error: unknown) => setFailure((error as Error).message),
    )
  const load = async () => setLinks(await listLinks(session))
  useEffect(() => void attempt(load()), [])
  return (
    <Dialog title={t('Share')} onClose={onClose} form="wide">
      <div class="share">
        <LinkForm
          scopes={scopesOf(
            openId.value === null ? null : session.pathOf(openId.value),
            session.scope,
          )}
          onMake={(request) =>
            attempt(
              makeLink(session, request).then(async (link) => {
                setMade(link)
                await load()
              }),
            )
          }
        />
        {failure !== null && (
          <p class="share-failure" role="alert">
            {failure}
          </p>
        )}
        {made?.token !== undefined && <NewLink address={addressOf(made.token)} />}
        <h3>{t('Who has access')}</h3>
        <AccessList session={session} links={links} onChange={() => attempt(load())} />
      </div>
    </Dialog>
  )
}

interface LinkFormProps {
  scopes: { path: string; label: string }[]
  onMake: (request: Parameters<typeof makeLink>[1]) => void
}

function LinkForm({ scopes, onMake }: LinkFormProps) {
  const [expiry, setExpiry] = useState<Expiry>('week')
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const field = (name: string) => String(form.get(name) ?? '')
    const rights = field('rights') === 'write' ? 'write' : 'read'
    const expires = timeOf(expiry, field('date'))
    onMake({ path: field('path'), rights, expires, name: field('name') })
  }
  return (
    <form class="share-form" onSubmit={onSubmit}>
      <label>
        {t('What')}
        <select class="field" name="path">
          {scopes.map(({ path, label }) => (
            <option key={path} value={path}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t('May')}
        <select class="field" name="rights">
          <option value="read">{t('Read')}</option>
          <option value="write">{t('Edit')}</option>
        </select>
      </label>
      <label>
        {t('Ends')}
        <select
          class="field"
          name="expiry"
          value={expiry}
          onChange={(event) => setExpiry(event.currentTarget.value as Expiry)}
        >
          <option value="day">{t('After a day')}</option>
          <option value="week">{t('After 7 days')}</option>
          <option value="month">{t('After 30 days')}</option>
          <option value="never">{t('Never')}</option>
          <option value="date">{t('On a date')}</option>
        </select>
      </label>
      {expiry === 'date' && (
        <label>
          {t('Date')}
          <input class="field" type="date" name="date" required />
        </label>
      )}
      <label>
        {t('For (name)')}
        <input
          class="field"
          name="name"
          dir="auto"
          maxLength={64}
          autocomplete="off"
          placeholder={t('Anyone: each chooses a name')}
        />
      </label>
      <button type="submit" class="primary">
        <Icon of={LinkIcon} />
        {t('Make a link')}
      </button>
    </form>
  )
}

function NewLink({ address }: { address: string }) {
  const field = useRef<HTMLInputElement>(null)
  const [isCopied, setIsCopied] = useState(false)
  useEffect(() => {
    setIsCopied(false)
    field.current?.select()
  }, [address])
  const copy = async () => {
    field.current?.select()
    // Without the right to the clipboard, the link is selected.
    await navigator.clipboard?.writeText(address).then(
      () => setIsCopied(true),
      () => {},
    )
  }
  return (
    <div class="share-link">
      <input ref={field} class="field" readOnly value={address} aria-label={t('Link')} />
      <button type="button" onClick={() => void copy()}>
        <Icon of={Copy} />
        {isCopied ? t('Copied') : t('Copy')}
      </button>
      <p class="faint">{t('Everyone who has this link can use it. It is shown only now.')}</p>
    </div>
  )
}
