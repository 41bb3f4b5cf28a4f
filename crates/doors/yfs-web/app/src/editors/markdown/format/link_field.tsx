// The bubble on a link, and the small field that makes or changes one.

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Copy, ExternalLink, Pencil, Unlink } from 'lucide'
import type { IconNode } from 'lucide'
import { t } from '../../../language/translate'
import { Icon } from '../../../look/icon'
import { hrefOf } from './link_text'

export interface LinkBubbleProps {
  href: string
  isEditable: boolean
  onOpen: () => void
  onCopy: () => void
  onEdit: () => void
  onRemove: () => void
}

function IconButton(props: { label: string; icon: IconNode; run: () => void }) {
  return (
    <button
      type="button"
      class="plain format-button"
      aria-label={props.label}
      title={props.label}
      onMouseDown={(event) => event.preventDefault()}
      onClick={props.run}
    >
      <Icon of={props.icon} />
    </button>
  )
}

export function LinkBubble(props: LinkBubbleProps) {
  return (
    <div class="format-bar link-bubble" role="group" aria-label={t('Link')}>
      <span class="link-address" title={props.href} dir="ltr">
        {props.href}
      </span>
      <IconButton label={t('Open the link')} icon={ExternalLink} run={props.onOpen} />
      <IconButton label={t('Copy the address')} icon={Copy} run={props.onCopy} />
      {props.isEditable && (
        <>
          <IconButton label={t('Edit the link')} icon={Pencil} run={props.onEdit} />
          <IconButton label={t('Remove the link')} icon={Unlink} run={props.onRemove} />
        </>
      )}
    </div>
  )
}

export interface LinkFieldProps {
  text: string
  href: string
  /** Text over several marks cannot be entered as one. */
  hasText: boolean
  onApply: (text: string, href: string) => void
  onRemove: (() => void) | null
  onOpen: (() => void) | null
  onClose: () => void
}

export function LinkField(props: LinkFieldProps) {
  const [text, setText] = useState(props.text)
  const [href, setHref] = useState(props.href)
  const address = useRef<HTMLInputElement>(null)
  const target = hrefOf(href)
  const isWrong = href.trim() !== '' && target === null
  useLayoutEffect(() => address.current?.select(), [])
  const apply = (event: Event) => {
    event.preventDefault()
    if (target !== null) props.onApply(text.trim() === '' ? href.trim() : text, target)
    else if (href.trim() === '' && props.onRemove !== null) props.onRemove()
  }
  return (
    <div
      role="dialog"
      aria-label={t('Link')}
      onKeyDown={(event) => {
        event.stopPropagation()
        if (event.key === 'Escape') props.onClose()
      }}
    >
      <form class="link-field" onSubmit={apply}>
        {props.hasText && (
          <label>
            <span>{t('Text')}</span>
            <input
              class="field"
              value={text}
              dir="auto"
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </label>
        )}
        <label>
          <span>{t('Address')}</span>
          <input
            ref={address}
            class="field"
            value={href}
            dir="ltr"
            placeholder={t('https://… or a file')}
            aria-invalid={isWrong}
            onInput={({ currentTarget }) => setHref(currentTarget.value)}
          />
        </label>
        {isWrong && <p role="alert">{t('This address cannot be a link.')}</p>}
        <div class="link-actions">
          {props.onOpen !== null && (
            <button type="button" class="plain" onClick={props.onOpen}>
              {t('Open')}
            </button>
          )}
          {props.onRemove !== null && (
            <button type="button" class="plain" onClick={props.onRemove}>
              {t('Remove')}
            </button>
          )}
          <button type="submit" class="primary" disabled={target === null}>
            {t('Apply')}
          </button>
        </div>
      </form>
    </div>
  )
}
