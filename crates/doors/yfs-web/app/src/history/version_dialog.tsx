// Two versions of a file compared, and back to the earlier one.

import { useEffect, useState } from 'preact/hooks'
import { RotateCcw } from 'lucide'
import { language, plural, t } from '../language/translate'
import { Dialog } from '../look/dialog'
import { Icon } from '../look/icon'
import { clockOf, dayOf, sinceWhen } from '../trust/ago'
import { nameInText } from '../trust/author'
import { actorInfo } from './actors'
import type { ChangeCounter } from './change_counts'
import { DiffView } from './diff_view'
import type { HistoryOptions } from './history_panel'
import { changesSince, restoreVersion, type TakenBack } from './restoring'
import { labelText } from './version_label'
import { readVersion, type FileVersion } from './versions_api'
import './version_dialog.css'

/** Two versions: the number 0 is the empty file before the first. */
export interface VersionPair {
  from: number
  to: number
}

export interface VersionDialogProps extends Omit<HistoryOptions, 'onClose'> {
  versions: FileVersion[]
  counter: ChangeCounter
  pair: VersionPair
  onPair: (pair: VersionPair) => void
  onClose: () => void
}

/** Returns what a version is called where there is one line for it. */
function titleOf(version: FileVersion): string {
  const when = `${dayOf(version.at)}, ${clockOf(version.at)}`
  const names = version.names.length > 0 ? version.names.join(', ') : labelText(version.label)
  const who = nameInText(version.actor)
  const plain = t('{when}, {name}', { when, name: who })
  const shown = names === null ? plain : `${plain} – ${names}`
  return version.current ? t('Now: {version}', { version: shown }) : shown
}

type Texts = { before: string; after: string } | string | null

function useTexts(props: VersionDialogProps): Texts {
  const { workspace, path, pair, versions } = props
  const [texts, setTexts] = useState<Texts>(null)
  const isCurrent = versions.find(({ number }) => number === pair.to)?.current === true
  useEffect(() => {
    let isGone = false
    const read = async () => {
      try {
        const [before, after] = await Promise.all(
          [pair.from, pair.to].map((number) =>
            number < 1 ? '' : readVersion(workspace, path(), number),
          ),
        )
        const areText = before != null && after != null
        if (!isGone) setTexts(areText ? { before, after } : t('The versions are not text.'))
      } catch (failure) {
        const reason = (failure as Error).message
        if (!isGone) setTexts(t('The versions cannot be compared: {reason}', { reason }))
      }
    }
    void read()
    return () => {
      isGone = true
    }
    // The current version goes on: the list is read again when it does.
  }, [workspace, pair.from, pair.to, isCurrent && versions])
  return texts
}

function VersionChoice(props: {
  label: string
  versions: FileVersion[]
  value: number
  hasEmpty: boolean
  onChoose: (number: number) => void
}) {
  const { label, versions, value, hasEmpty, onChoose } = props
  return (
    <label class="version-choice">
      <span>{label}</span>
      <select
        class="field"
        value={String(value)}
        onChange={(event) => onChoose(Number(event.currentTarget.value))}
      >
        {[...versions].reverse().map((version) => (
          <option key={version.number} value={String(version.number)} disabled={version.redacted}>
            {titleOf(version)}
          </option>
        ))}
        {hasEmpty && <option value="0">{t('Before the first version')}</option>}
      </select>
    </label>
  )
}

function joined(names: string[]): string {
  return new Intl.ListFormat(language.peek(), { type: 'conjunction' }).format(names)
}

/** Returns a name for a list of authors: "Ben", "agent scout". */
function authorText({ actor, isMine }: TakenBack): string {
  if (isMine) return t('your own')
  const { kind, name } = actorInfo(actor)
  return kind === 'agent' ? t('agent {name}', { name }) : nameInText(actor)
}

/** Says what a restore takes back, whose, and since when. */
function warningOf(taken: TakenBack[], since: number): string {
  const says = taken.map((one) => {
    const name = authorText(one)
    if (one.lines === null) return name
    return plural(one.lines, '{name} (1 line)', '{name} ({n} lines)', { name })
  })
  return t('This takes back changes of {names} since {when}.', {
    names: joined(says),
    when: sinceWhen(since),
  })
}

function Restore(props: VersionDialogProps & { version: FileVersion }) {
  const { workspace, path, versions, counter, version } = props
  const [taken, setTaken] = useState<TakenBack[] | null>(null)
  const [state, setState] = useState<'idle' | 'asking' | 'busy' | 'done'>('idle')
  const [undo, setUndo] = useState<(() => Promise<void>) | null>(null)
  const [news, setNews] = useState('')
  useEffect(() => {
    if (state !== 'done') setState('idle')
  }, [version.number])
  const ask = async () => {
    setNews('')
    setTaken(null)
    setState('asking')
    setTaken(await changesSince(workspace, counter, versions, version))
  }
  const attempt = async (action: () => Promise<void>) => {
    setState('busy')
    try {
      await action()
    } catch (failure) {
      setNews(t('Not restored: {reason}', { reason: (failure as Error).message }))
      setState('idle')
    }
  }
  const restore = () =>
    attempt(async () => {
      const back = await restoreVersion(workspace, path(), version.number)
      setUndo(() => back)
      setNews(t('The version is restored.'))
      setState('done')
    })
  const takeBack = () =>
    attempt(async () => {
      await undo!()
      setNews(t('The restore is undone.'))
      setState('idle')
    })
  return (
    <div class="restore" role="group" aria-label={t('Restore')}>
      {state === 'idle' && (
        <button type="button" class="primary" onClick={() => void ask()}>
          <Icon of={RotateCcw} />
          {t('Restore this version')}
        </button>
      )}
      {state === 'asking' && (
        <div class="restore-question">
          <p role="status">
            {taken === null ? t('Counting what came after it…') : warningOf(taken, version.at)}
          </p>
          <button
            type="button"
            class="primary"
            disabled={taken === null}
            onClick={() => void restore()}
          >
            {t('Restore')}
          </button>
          <button type="button" onClick={() => setState('idle')}>
            {t('Cancel')}
          </button>
        </div>
      )}
      {news !== '' && <span role="status">{news}</span>}
      {state === 'done' && (
        <button type="button" onClick={() => void takeBack()}>
          {t('Undo')}
        </button>
      )}
    </div>
  )
}

export function VersionDialog(props: VersionDialogProps) {
  const { workspace, path, versions, pair, onPair, onClose } = props
  const texts = useTexts(props)
  const version = versions.find(({ number }) => number === pair.to) ?? null
  const newest = versions.at(-1)
  const older = versions.find(({ number }) => number === pair.from) ?? null
  // What is restored is the older one of a comparison with the present, else the one shown.
  const target = version?.current === true ? older : version
  const isOld = target !== null && !target.current && !target.redacted
  const [restored, setRestored] = useState(target)
  useEffect(() => {
    if (isOld) setRestored(target)
  }, [target?.number])
  const name = path().slice(path().lastIndexOf('/') + 1)
  return (
    <Dialog title={t('Versions of {name}', { name })} form="wide" onClose={onClose}>
      <div class="dialog-body">
        <div class="version-choices">
          <VersionChoice
            label={t('From')}
            versions={versions}
            value={pair.from}
            hasEmpty
            onChoose={(from) => onPair({ ...pair, from })}
          />
          <VersionChoice
            label={t('To')}
            versions={versions}
            value={pair.to}
            hasEmpty={false}
            onChoose={(to) => onPair({ ...pair, to })}
          />
        </div>
        <div class="version-actions">
          <div class="segments">
            <button
              type="button"
              aria-pressed={pair.from === pair.to - 1}
              onClick={() =>
                onPair({ from: (restored?.number ?? pair.to) - 1, to: restored?.number ?? pair.to })
              }
            >
              {t('This change')}
            </button>
            {newest !== undefined && (
              <button
                type="button"
                aria-pressed={version?.current === true && pair.from !== pair.to - 1}
                onClick={() => onPair({ from: restored?.number ?? pair.from, to: newest.number })}
              >
                {t('Since then')}
              </button>
            )}
          </div>
          {!workspace.readOnly && restored !== null && !restored.redacted && !restored.current && (
            <Restore {...props} version={restored} />
          )}
        </div>
        {texts === null && <p class="empty">{t('Comparing…')}</p>}
        {typeof texts === 'string' && <p role="alert">{texts}</p>}
        {texts !== null && typeof texts !== 'string' && (
          <DiffView {...texts} hasBlocks={/\.(md|markdown)$/i.test(name)} />
        )}
      </div>
    </Dialog>
  )
}
