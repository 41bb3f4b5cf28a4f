// The question for the name under which others see a person, and which is the author of what they
// write.

import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { Dialog } from '../look/dialog'
import './name_dialog.css'

interface NameDialogProps {
  title: string
  explanation: string
  name: string
  closing: string
  onClose: () => void
  /** Takes the name; what it throws is shown, and the person chooses another one. */
  onName: (name: string) => Promise<void>
}

export function NameDialog(props: NameDialogProps) {
  const { title, explanation, name, closing, onClose, onName } = props
  const field = useRef<HTMLInputElement>(null)
  const [failure, setFailure] = useState<string | null>(null)
  const [isSending, setIsSending] = useState(false)
  useEffect(() => field.current?.select(), [])
  const send = async () => {
    const typed = field.current!.value.trim()
    if (typed === '' || isSending) return
    setIsSending(true)
    setFailure(null)
    await onName(typed).catch((error: unknown) => setFailure((error as Error).message))
    setIsSending(false)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="name-form"
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <p class="faint">{explanation}</p>
        <label>
          {t('Your name')}
          <input
            ref={field}
            class="field"
            name="name"
            dir="auto"
            maxLength={64}
            autocomplete="name"
            defaultValue={name}
            autofocus
            required
          />
        </label>
        {failure !== null && (
          <p class="name-failure" role="alert">
            {failure}
          </p>
        )}
        <footer>
          <button type="button" onClick={onClose}>
            {closing}
          </button>
          <button type="submit" class="primary" disabled={isSending}>
            {t('Continue')}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

/**
 * Asks for a name before the application is shown. Returns what `take` makes of it; null if the
 * person stays a guest.
 */
export function askName(take: (name: string) => Promise<string>): Promise<string | null> {
  const place = document.createElement('div')
  document.body.append(place)
  return new Promise((resolve) => {
    const finish = (result: string | null) => {
      render(null, place)
      place.remove()
      resolve(result)
    }
    render(
      <NameDialog
        title={t('What is your name?')}
        explanation={t('Others see it at your cursor, and it is the author of what you change.')}
        name=""
        closing={t('Stay a guest')}
        onClose={() => finish(null)}
        onName={async (name) => finish(await take(name))}
      />,
      place,
    )
  })
}
