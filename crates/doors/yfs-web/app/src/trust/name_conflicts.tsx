// Nodes of one name: a person gives one another name, or moves one to the trash. The conflict ends
// when one node is left that has the name (docs/tree.md).

import { useEffect, useState } from 'preact/hooks'
import { readVersion, listVersions } from '../history/versions_api'
import { plural, t } from '../language/translate'
import type { Session, TreeEntry } from '../session/workspace'
import { join, nameOf, parentOf } from '../tree/tree_model'
import { Ago } from './ago'
import { AuthorMark, nameInText } from './author'
import { useFailures } from './failure'
import { sizeText } from './size'

const MAX_TEXT = 4000

interface NameGroup {
  key: string
  directory: string
  name: string
  nodes: TreeEntry[]
}

/** Returns the nodes that share their stored name with others of their directory. */
function groupsOfNames(session: Session): NameGroup[] {
  const rows = session.rows.value
  const groups = new Map<string, NameGroup>()
  for (const entry of session.entries.value) {
    const name = rows.get(entry.guid)?.name
    if (name === undefined) continue
    const directory = parentOf(entry.path)
    const key = join(directory, name)
    const group = groups.get(key) ?? { key, directory, name, nodes: [] }
    group.nodes.push(entry)
    groups.set(key, group)
  }
  return [...groups.values()].filter(({ nodes }) => nodes.length > 1)
}

interface SideFacts {
  text: string | null
  first: string | null
  last: string | null
}

async function readFacts(session: Session, path: string): Promise<SideFacts> {
  const versions = await listVersions(session, path)
  const now = versions.at(-1)
  const text = now === undefined ? '' : await readVersion(session, path, now.number)
  return { text, first: versions[0]?.actor ?? null, last: now?.actor ?? null }
}

function useFacts(session: Session, entry: TreeEntry): SideFacts | null {
  const [facts, setFacts] = useState<SideFacts | null>(null)
  useEffect(() => {
    if (entry.kind !== 'file') return
    let isGone = false
    readFacts(session, entry.path)
      .then((read) => !isGone && setFacts(read))
      .catch(() => {
        // What the listing says is shown.
      })
    return () => void (isGone = true)
  }, [entry.path, entry.mtime, entry.size])
  return facts
}

/** Proposes a name that no other node of the directory has. */
function freeName(session: Session, directory: string, name: string): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const taken = session.idsByPath.peek()
  for (let n = 2; ; n++) {
    const proposed = `${stem} ${n}${ending}`
    if (!taken.has(join(directory, proposed))) return proposed
  }
}

function Content({ entry, facts }: { entry: TreeEntry; facts: SideFacts | null }) {
  if (entry.kind !== 'file') return <p class="faint">{t('folder')}</p>
  if (facts === null) return <p class="faint">{t('Loading…')}</p>
  if (facts.text === null) return <p class="faint">{t('There is no preview of such a file.')}</p>
  return (
    <pre class="conflict-text" tabIndex={0} role="region" aria-label={t('Content')}>
      {facts.text.slice(0, MAX_TEXT)}
    </pre>
  )
}

interface SideProps {
  session: Session
  group: NameGroup
  entry: TreeEntry
  onOpen: (path: string) => void
}

function Side({ session, group, entry, onOpen }: SideProps) {
  const { path, size, mtime } = entry
  const facts = useFacts(session, entry)
  const { alert, attempt } = useFailures()
  const shown = nameOf(path)
  const [name, setName] = useState(() => freeName(session, group.directory, group.name))
  const rename = (event: Event) => {
    event.preventDefault()
    if (name.trim() !== '') void attempt(session.move(path, join(group.directory, name.trim())))
  }
  return (
    <li class="conflict-side">
      <span>
        <button type="button" class="as-link" onClick={() => onOpen(path)}>
          {shown}
        </button>
      </span>
      {facts !== null && (
        <span class="conflict-writers">
          <AuthorMark actor={facts.last} />
          {facts.first === facts.last
            ? nameInText(facts.last)
            : t('{last}, made by {first}', {
                last: nameInText(facts.last),
                first: nameInText(facts.first),
              })}
        </span>
      )}
      <span class="faint">
        <Ago at={mtime} /> · {sizeText(size)}
      </span>
      <Content entry={entry} facts={facts} />
      {alert}
      {!session.readOnly && (
        <form class="conflict-actions" onSubmit={rename}>
          <input
            class="field"
            aria-label={t('New name of {name}', { name: shown })}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <button type="submit">{t('Rename')}</button>
          <button
            type="button"
            aria-label={t('Move {name} to the trash', { name: shown })}
            onClick={() => void attempt(session.trash(path))}
          >
            {t('Trash')}
          </button>
        </form>
      )}
    </li>
  )
}

export interface NameConflictsProps {
  session: Session
  onOpen: (path: string) => void
}

export function NameConflicts({ session, onOpen }: NameConflictsProps) {
  const groups = groupsOfNames(session)
  if (groups.length === 0) return null
  return (
    <section aria-label={t('Names')}>
      <h3>{t('Names')}</h3>
      <p class="faint">
        {t('They were made or renamed at once. Rename one of them, or move one to the trash.')}
      </p>
      {groups.map((group) => (
        <article key={group.key} class="conflict" aria-label={group.key}>
          <h4>
            {plural(group.nodes.length, '1 file is named {path}', '{n} files are named {path}', {
              path: group.key,
            })}
          </h4>
          <ul class="conflict-sides">
            {group.nodes.map((entry) => (
              <Side
                key={entry.guid}
                session={session}
                group={group}
                entry={entry}
                onOpen={onOpen}
              />
            ))}
          </ul>
        </article>
      ))}
    </section>
  )
}
