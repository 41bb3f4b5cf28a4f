// The list of uploads, at the corner of the page, and the question about names that are taken.

import { render } from 'preact'
import { useComputed } from '@preact/signals'
import { CircleCheck, Pause, Play, RotateCw, TriangleAlert, X } from 'lucide'
import { plural, t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import { shorten } from '../session/refusal_words'
import { nameOf } from '../tree/tree_model'
import { cancel, cancelAll, isUploading, pause, resume, uploads, type Upload } from './upload_queue'
import './upload_panel.css'

export type NameChoice = 'keep' | 'replace' | 'skip'

/** The most names that the question shows. */
const MAX_NAMES = 5

let host: HTMLElement | null = null

/** Shows the list, until it is closed. */
export function showUploads(): void {
  if (host !== null) return
  host = document.createElement('div')
  document.body.append(host)
  render(<UploadPanel />, host)
}

function UploadPanel() {
  const total = useComputed(() => {
    const all = uploads.value
    const size = all.reduce((sum, { file }) => sum + file.size, 0)
    const sent = all.reduce((sum, upload) => sum + upload.sent.value, 0)
    const n_done = all.filter(({ state }) => state.value === 'done').length
    return { n: all.length, n_done, share: size === 0 ? 1 : sent / size }
  })
  const { n, n_done, share } = total.value
  if (n === 0) return null
  return (
    <section class="uploads" aria-label={t('Uploads')}>
      <header>
        <h2 aria-live="polite">
          {n_done === n
            ? plural(n, 'Uploaded 1 file', 'Uploaded {n} files')
            : t('Uploading: {done} of {n} files, {percent} %', {
                done: n_done,
                n,
                percent: Math.floor(share * 100),
              })}
        </h2>
        {isUploading.value && (
          <button type="button" class="plain" aria-label={t('Pause all')} onClick={pauseAll}>
            <Icon of={Pause} />
          </button>
        )}
        <button
          type="button"
          class="plain"
          aria-label={n_done === n ? t('Close') : t('Cancel all')}
          onClick={cancelAll}
        >
          <Icon of={X} />
        </button>
      </header>
      <ul>
        {uploads.value.map((upload) => (
          <UploadRow key={upload.key} upload={upload} />
        ))}
      </ul>
    </section>
  )
}

function pauseAll(): void {
  for (const upload of uploads.peek()) pause(upload)
}

function stateText(upload: Upload): string {
  switch (upload.state.value) {
    case 'away':
      return t('Waits for the server')
    case 'paused':
      return t('Paused')
    case 'failed':
      return upload.error.value ?? t('Failed')
    case 'waiting':
      return t('Waits')
    case 'done':
      return t('Done')
    default:
      return `${Math.floor((100 * upload.sent.value) / Math.max(1, upload.file.size))} %`
  }
}

function UploadRow({ upload }: { upload: Upload }) {
  const state = upload.state.value
  const name = nameOf(upload.path)
  const isBusy = state === 'waiting' || state === 'sending' || state === 'away'
  return (
    <li class={`upload is-${state}`} title={upload.path}>
      {state === 'done' && <Icon of={CircleCheck} />}
      {state === 'failed' && <Icon of={TriangleAlert} />}
      <span class="upload-name">{shorten(name)}</span>
      <span class="upload-state">{stateText(upload)}</span>
      {state !== 'done' && (
        <progress aria-label={name} max={Math.max(1, upload.file.size)} value={upload.sent.value} />
      )}
      {isBusy && (
        <UploadButton label={t('Pause {name}', { name })} icon={Pause} run={() => pause(upload)} />
      )}
      {state === 'paused' && (
        <UploadButton label={t('Resume {name}', { name })} icon={Play} run={() => resume(upload)} />
      )}
      {state === 'failed' && (
        <UploadButton
          label={t('Try {name} again', { name })}
          icon={RotateCw}
          run={() => resume(upload)}
        />
      )}
      {state !== 'done' && (
        <UploadButton label={t('Cancel {name}', { name })} icon={X} run={() => cancel(upload)} />
      )}
    </li>
  )
}

function UploadButton(props: { label: string; icon: typeof X; run: () => void }) {
  return (
    <button
      type="button"
      class="plain"
      aria-label={props.label}
      title={props.label}
      onClick={props.run}
    >
      <Icon of={props.icon} />
    </button>
  )
}

/** Asks what to do with files whose names are taken; null if nothing is uploaded. */
export function askAboutNames(names: readonly string[]): Promise<NameChoice | null> {
  return new Promise((resolve) => {
    const place = document.createElement('div')
    document.body.append(place)
    const answer = (choice: NameChoice | null) => {
      render(null, place)
      place.remove()
      resolve(choice)
    }
    render(<NameQuestion names={names} onAnswer={answer} />, place)
  })
}

function NameQuestion(props: {
  names: readonly string[]
  onAnswer: (choice: NameChoice | null) => void
}) {
  const { names, onAnswer } = props
  const title = plural(names.length, '1 file exists already', '{n} files exist already')
  const n_more = names.length - MAX_NAMES
  return (
    <Dialog title={title} onClose={() => onAnswer(null)}>
      <div class="name-question">
        <ul>
          {names.slice(0, MAX_NAMES).map((name) => (
            <li key={name}>{shorten(name)}</li>
          ))}
          {n_more > 0 && <li>{plural(n_more, 'and 1 more', 'and {n} more')}</li>}
        </ul>
        <p class="faint">{t('A file that is replaced keeps its history.')}</p>
        <div class="name-question-choices">
          <button type="button" class="primary" onClick={() => onAnswer('keep')}>
            {t('Keep both')}
          </button>
          <button type="button" onClick={() => onAnswer('replace')}>
            {t('Replace')}
          </button>
          <button type="button" onClick={() => onAnswer('skip')}>
            {t('Skip')}
          </button>
        </div>
      </div>
    </Dialog>
  )
}
