// What `fs` tells of an object: `Stats`, `BigIntStats` and `Dirent`.

import { constants } from 'node:fs'
import type { Kind } from '../types.js'

const { S_IFDIR, S_IFLNK, S_IFMT, S_IFREG } = constants

/** What the workspace knows of an object. */
export interface Facts {
  id: string
  kind: Kind
  size: number
  mode: number
  mtimeMs: number
  birthtimeMs: number
  /** How many names it has: none once it is removed while it is open. */
  nlink: number
}

const TYPES: Record<Kind, number> = { file: S_IFREG, directory: S_IFDIR, symlink: S_IFLNK }

/** The size of a block in bytes. */
const BLOCK = 512

/** The methods that report the kind of an object. */
abstract class Kinds {
  /** Returns the bits of a mode that encode the kind. */
  abstract typeOf(): number

  isFile(): boolean {
    return this.typeOf() === S_IFREG
  }

  isDirectory(): boolean {
    return this.typeOf() === S_IFDIR
  }

  isSymbolicLink(): boolean {
    return this.typeOf() === S_IFLNK
  }

  isFIFO(): boolean {
    return false
  }

  isSocket(): boolean {
    return false
  }

  isBlockDevice(): boolean {
    return false
  }

  isCharacterDevice(): boolean {
    return false
  }
}

/** The facts of an object. There are no users, and only the times of creation and last change. */
export class NodeStats extends Kinds {
  dev: number
  mode: number
  nlink: number
  uid = process.getuid?.() ?? 0
  gid = process.getgid?.() ?? 0
  rdev = 0
  blksize = 4096
  ino: number
  size: number
  blocks: number
  atimeMs: number
  mtimeMs: number
  ctimeMs: number
  birthtimeMs: number

  constructor(facts: Facts, dev: number) {
    super()
    this.dev = dev
    this.mode = TYPES[facts.kind] | facts.mode
    this.nlink = facts.nlink
    this.ino = numberOf(facts.id)
    this.size = facts.size
    this.blocks = Math.ceil(facts.size / BLOCK)
    this.atimeMs = this.mtimeMs = this.ctimeMs = facts.mtimeMs
    this.birthtimeMs = facts.birthtimeMs
  }

  override typeOf(): number {
    return this.mode & S_IFMT
  }

  get atime(): Date {
    return new Date(this.atimeMs)
  }

  get mtime(): Date {
    return new Date(this.mtimeMs)
  }

  get ctime(): Date {
    return new Date(this.ctimeMs)
  }

  get birthtime(): Date {
    return new Date(this.birthtimeMs)
  }
}

/** The same with numbers that have no limit, and times in nanoseconds as well. */
export class NodeBigIntStats extends Kinds {
  declare mode: bigint

  override typeOf(): number {
    return Number(this.mode) & S_IFMT
  }

  constructor(facts: Facts, dev: number) {
    super()
    for (const [name, value] of Object.entries(new NodeStats(facts, dev))) {
      const rounded = BigInt(Math.trunc(value as number))
      Object.assign(this, { [name]: rounded })
      if (name.endsWith('timeMs')) {
        Object.assign(this, {
          [name.replace('Ms', 'Ns')]: rounded * 1_000_000n,
          [name.replace('Ms', '')]: new Date(Number(rounded)),
        })
      }
    }
  }
}

/** A name in a directory, and what it names. */
export class NodeDirent extends Kinds {
  name: string | Buffer
  parentPath: string
  path: string
  readonly #type: number

  constructor(name: string | Buffer, parent: string, kind: Kind) {
    super()
    this.name = name
    this.parentPath = this.path = parent
    this.#type = TYPES[kind]
  }

  override typeOf(): number {
    return this.#type
  }
}

/** Returns a number for an id, unique within the 53 bits of a double (FNV-1a, two rounds). */
export function numberOf(id: string): number {
  return fnv(id, 0x811c9dc5) * 0x200000 + (fnv(id, 0x01234567) >>> 11)
}

function fnv(text: string, seed: number): number {
  let hash = seed
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}
