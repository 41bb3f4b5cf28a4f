// `fs.watch`, over the changes of a workspace by all actors and processes.

import { EventEmitter } from 'node:events'
import { isWithin, nameOf, parentOf } from '../paths.js'
import type { Change } from '../types.js'
import { type Options, optionsOf, pathOf, encodeText } from './arguments.js'
import { failure } from './failures.js'
import type { Tree } from './tree.js'

/** Yields what changes from a cursor on. */
export type Changes = (options: { cursor: string; signal: AbortSignal }) => AsyncIterable<Change>

/** An event of a watcher. */
export interface WatchEvent {
  eventType: 'rename' | 'change'
  filename: string | Buffer
}

/** Begins to watch, and yields what happens. What is not there cannot be watched. */
export function watched(
  tree: Tree,
  changes: Changes,
  path: unknown,
  options: Options,
  signal: AbortSignal,
): AsyncIterable<WatchEvent> {
  const text = pathOf(path, 'filename')
  const place = tree.find(text, 'watch', text)
  const found = tree.look(place, true)
  if (found === undefined) throw Object.assign(failure('ENOENT', 'watch', text), { filename: path })
  // Watches from now on, not from the first read of an event.
  const cursor = tree.cursor()
  const at = tree.realpath(place.at)
  const named =
    found.kind === 'directory'
      ? (path: string) => nameBelow(at, path, options.recursive === true)
      : (path: string) => (path === at ? nameOf(at) : undefined)
  return eventsOf(changes({ cursor, signal }), named, options)
}

async function* eventsOf(
  changes: AsyncIterable<Change>,
  named: (path: string) => string | undefined,
  options: Options,
): AsyncGenerator<WatchEvent, void, void> {
  for await (const { type, path, from } of changes) {
    for (const at of from === null ? [path] : [from, path]) {
      const name = named(at)
      if (name !== undefined)
        yield {
          eventType: type === 'changed' ? 'change' : 'rename',
          filename: encodeText(name, options),
        }
    }
  }
}

/** Returns the name of an event: the path below the watched directory. */
function nameBelow(directory: string, path: string, isRecursive: boolean): string | undefined {
  if (path === directory || !isWithin(path, directory)) return undefined
  if (isRecursive) return path.slice(directory === '/' ? 1 : directory.length + 1)
  return parentOf(path) === directory ? nameOf(path) : undefined
}

/** What `fs.watch` returns. */
export class NodeWatcher extends EventEmitter {
  readonly #stop = new AbortController()

  constructor(tree: Tree, changes: Changes, path: unknown, given: unknown) {
    super()
    const options = optionsOf(given)
    const { signal } = options as { signal?: AbortSignal }
    signal?.addEventListener('abort', () => this.close())
    void this.#follow(watched(tree, changes, path, options, this.#stop.signal))
  }

  close(): void {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    process.nextTick(() => this.emit('close'))
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  async #follow(events: AsyncIterable<WatchEvent>): Promise<void> {
    try {
      for await (const { eventType, filename } of events) {
        if (this.#stop.signal.aborted) return
        this.emit('change', eventType, filename)
      }
      this.close()
    } catch (error) {
      if (!this.#stop.signal.aborted) this.emit('error', error)
    }
  }
}
