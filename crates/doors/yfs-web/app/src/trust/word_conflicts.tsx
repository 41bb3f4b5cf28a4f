// The words of one file that several writers put into one place, each with its writers.

import { useEffect, useState } from 'preact/hooks'
import { t } from '../language/translate'
import { fileUrl } from '../session/file_url'
import type { Session } from '../session/workspace'
import { AuthorMark, nameInText } from './author'
import { conflicts, readConflicts } from './conflict_count'
import { useFailures } from './failure'

/** Returns the address at which the conflicts of a file are decided. */
export const conflictUrl = (path: string): string =>
  fileUrl(path).replace('/api/files', '/api/conflicts')

interface ConflictWord {
  text: string
  actors: string[]
}

interface WordPlace {
  line: number
  text: string
  words: ConflictWord[]
}

const writersOf = ({ actors }: ConflictWord): string =>
  actors.length === 0 ? t('An unknown author') : actors.map(nameInText).join(', ')

/** The line, with the words in conflict marked. */
function Line({ place }: { place: WordPlace }) {
  const all = place.words.map(({ text }) => text).join(' ')
  const at = place.text.indexOf(all)
  if (at < 0) return <code class="conflict-line">{place.text}</code>
  return (
    <code class="conflict-line">
      {place.text.slice(0, at)}
      <mark>{all}</mark>
      {place.text.slice(at + all.length)}
    </code>
  )
}

interface PlaceProps {
  place: WordPlace
  isReadOnly: boolean
  onSettle: (keep: number | null) => void
  onOpen: () => void
}

function Place({ place, isReadOnly, onSettle, onOpen }: PlaceProps) {
  const isChoice = place.words.length > 1
  return (
    <div class="conflict-place">
      <p>
        <button type="button" class="as-link" onClick={onOpen}>
          {t('Line {n}', { n: place.line })}
        </button>{' '}
        <Line place={place} />
      </p>
      <ul class="conflict-sides">
        {place.words.map((word, n) => (
          <li key={n} class="conflict-side">
            <span class="conflict-writers">
              {word.actors.map((actor) => (
                <AuthorMark key={actor} actor={actor} />
              ))}
              {writersOf(word)}
            </span>
            <code>{word.text}</code>
            {isChoice && !isReadOnly && (
              <button type="button" class="conflict-keep" onClick={() => onSettle(n)}>
                {t('Keep {word}', { word: word.text })}
              </button>
            )}
          </li>
        ))}
      </ul>
      {!isReadOnly && (
        <button type="button" onClick={() => onSettle(null)}>
          {isChoice ? t('Keep both') : t('It is right')}
        </button>
      )}
    </div>
  )
}

export interface WordConflictsProps {
  session: Session
  path: string
  onOpen: (line: number) => void
}

export function WordConflicts({ session, path, onOpen }: WordConflictsProps) {
  const { alert, attempt } = useFailures()
  const [places, setPlaces] = useState<WordPlace[] | null>(null)
  const load = async () => {
    const response = await session.call('GET', conflictUrl(path))
    setPlaces(((await response.json()) as { places: WordPlace[] }).places)
  }
  useEffect(() => void attempt(load()), [path, conflicts.value])
  const settle = async (place: number, keep: number | null) => {
    const words = places![place]!.words.map(({ text }) => text)
    const post = session.call('POST', conflictUrl(path), { place, words, keep })
    if (!(await attempt(post))) return
    await attempt(load().then(() => readConflicts(session)))
  }
  return (
    <article class="conflict" aria-label={path}>
      <h4>{path}</h4>
      {alert}
      {places === null && <p class="faint">{t('Loading…')}</p>}
      {places?.map((place, n) => (
        <Place
          key={`${n} ${place.line} ${place.text}`}
          place={place}
          isReadOnly={session.readOnly}
          onSettle={(keep) => void settle(n, keep)}
          onOpen={() => onOpen(place.line)}
        />
      ))}
    </article>
  )
}
