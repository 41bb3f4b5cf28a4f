// Files that a shell needs and that are never stored: the stubs of its commands, devices, facts of
// processes.
//
// They are beside the workspace, in memory, and end with the shell.

import { contentOf } from './given.js'
import { nameOf, parentOf } from './paths.js'

/** Gives the content of a file when it is first asked for. */
export type Provider = () => string | Uint8Array | Promise<string | Uint8Array>

/** A file or directory beside the workspace. */
export interface SideEntry {
  readonly id: number
  /** Nothing for a directory. */
  content: Uint8Array | Provider | null
  mode: number
  mtime: Date
}

/** The directories whose files are not the workspace's, unless it has one of that name. */
const SYSTEM = ['/bin', '/usr', '/dev', '/proc']

/** Returns the directory of the system that a normalised path is in, if any. */
export function systemOf(path: string): string | undefined {
  return SYSTEM.find((top) => path === top || path.startsWith(`${top}/`))
}

/** A small tree of files, by path. */
export class SideMap {
  readonly #entries = new Map<string, SideEntry>()
  #nextId = 1

  get(path: string): SideEntry | undefined {
    return this.#entries.get(path)
  }

  has(path: string): boolean {
    return this.#entries.has(path)
  }

  paths(): string[] {
    return [...this.#entries.keys()]
  }

  /** Makes or replaces a file, and the directories above it. */
  write(
    path: string,
    content: Uint8Array | Provider,
    meta: { mode?: number; mtime?: Date } = {},
  ): void {
    this.mkdir(parentOf(path))
    const id = this.#entries.get(path)?.id ?? this.#nextId++
    this.#entries.set(path, {
      id,
      content,
      mode: meta.mode ?? 0o644,
      mtime: meta.mtime ?? new Date(),
    })
  }

  /** Makes a directory and those above it. */
  mkdir(path: string): void {
    if (path === '/' || this.#entries.has(path)) return
    this.mkdir(parentOf(path))
    this.#entries.set(path, { id: this.#nextId++, content: null, mode: 0o755, mtime: new Date() })
  }

  /** Returns what a file holds. */
  async read(entry: SideEntry): Promise<Uint8Array> {
    if (typeof entry.content === 'function') {
      const content = await entry.content()
      entry.content = contentOf(content, 'content')
    }
    return entry.content ?? new Uint8Array()
  }

  /** Lists a directory. */
  children(path: string): { name: string; isDirectory: boolean }[] {
    const found: { name: string; isDirectory: boolean }[] = []
    // Every directory that is not empty has an entry of its own.
    if (path !== '/' && !this.#entries.has(path)) return found
    for (const [at, entry] of this.#entries) {
      if (at !== '/' && parentOf(at) === path)
        found.push({ name: nameOf(at), isDirectory: entry.content === null })
    }
    return found
  }

  /** Removes an entry with all entries below it. */
  remove(path: string): void {
    for (const at of this.paths()) {
      if (at === path || at.startsWith(`${path}/`)) this.#entries.delete(at)
    }
  }

  /** Removes empty directories, this one and those above it, unless they are the system's. */
  prune(path: string): void {
    for (
      let at = path;
      at !== '/' && !systemOf(at) && this.children(at).length === 0;
      at = parentOf(at)
    )
      this.remove(at)
  }

  /** Returns the provider of a lazy file whose content was not loaded yet. */
  lazy(path: string): Provider | undefined {
    const content = this.#entries.get(path)?.content
    return typeof content === 'function' ? content : undefined
  }
}

/** Makes a provider that is asked once, and again only if it fails. */
export function once(provider: Provider): Provider {
  let given: Awaited<ReturnType<Provider>> | undefined
  return async () => (given ??= await provider())
}
