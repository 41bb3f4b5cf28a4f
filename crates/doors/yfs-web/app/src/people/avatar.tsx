// A round picture of a person or an agent: initials, or a robot.

import { Bot } from 'lucide'
import { Icon } from '../look/icon'
import { initialsOf } from './people'
import { readableOn } from './readable'
import './avatar.css'

export function Avatar({ name, color, agent }: { name: string; color: string; agent: boolean }) {
  return (
    <span
      class={agent ? 'avatar is-agent' : 'avatar'}
      style={{ background: color, color: readableOn(color) }}
      aria-hidden
    >
      {agent ? <Icon of={Bot} /> : initialsOf(name)}
    </span>
  )
}
