// The authors of changes: `human:ada`, `agent:reviewer-3`, `mirror:laptop`, `system:import`.

import { t } from '../language/translate'

export type ActorKind = 'human' | 'agent' | 'mirror' | 'system' | 'unknown'

export interface ActorInfo {
  kind: ActorKind
  name: string
  /** What the kind is called in sentences. */
  title: string
  color: string
}

const TITLES: Record<ActorKind, string> = {
  human: 'person',
  agent: 'agent',
  mirror: 'on disk',
  system: 'system',
  unknown: 'unknown author',
}

/** Colors that differ from each other on light and on dark ground. */
const COLORS = [
  '#3b82c4',
  '#b4642d',
  '#4f9a55',
  '#a3508f',
  '#8a7a1f',
  '#c2505a',
  '#3f9a94',
  '#7566c4',
]

function colorOf(actor: string): string {
  let hash = 0
  for (const character of actor) hash = (hash * 31 + character.codePointAt(0)!) >>> 0
  return COLORS[hash % COLORS.length]!
}

/** The actor of a directory has the name of its owner, and digits that tell directories apart. */
function shownName(kind: ActorKind, name: string): string {
  if (kind !== 'mirror') return name
  const owner = name.replace(/-[0-9a-f]{8}$/, '')
  return owner === 'folder' ? t('A program') : owner
}

export function actorInfo(actor: string | null): ActorInfo {
  if (actor === null)
    return { kind: 'unknown', name: 'unknown', title: TITLES.unknown, color: '#888' }
  const colon = actor.indexOf(':')
  const prefix = actor.slice(0, Math.max(0, colon))
  const kind: ActorKind = prefix in TITLES ? (prefix as ActorKind) : 'unknown'
  const name = kind === 'unknown' ? actor : shownName(kind, actor.slice(colon + 1))
  return { kind, name, title: TITLES[kind], color: colorOf(actor) }
}
