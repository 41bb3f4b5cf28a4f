// A directory that is read name by name: what `fs.opendir` returns.

import { NodeDirent } from './stats.js'
import type { Tree } from './tree.js'

type Callback<T> = (error: Error | null, value?: T) => void

/** An open directory. What it lists is what was there when it was first read. */
export class NodeDir {
  readonly path: string
  readonly #tree: Tree
  readonly #at: string
  #names: Iterator<NodeDirent> | undefined
  #isClosed = false

  constructor(tree: Tree, path: string, at: string) {
    this.#tree = tree
    this.path = path
    this.#at = at
  }

  readSync(): NodeDirent | null {
    this.#check()
    this.#names ??= this.#list()
    const next = this.#names.next()
    return next.done ? null : next.value
  }

  read(): Promise<NodeDirent | null>
  read(callback: Callback<NodeDirent | null>): void
  read(callback?: Callback<NodeDirent | null>): Promise<NodeDirent | null> | void {
    const read = (async () => this.readSync())()
    if (callback === undefined) return read
    read.then((entry) => callback(null, entry), callback)
  }

  closeSync(): void {
    this.#check()
    this.#isClosed = true
  }

  close(): Promise<void>
  close(callback: Callback<void>): void
  close(callback?: Callback<void>): Promise<void> | void {
    const closed = (async () => this.closeSync())()
    if (callback === undefined) return closed
    closed.then(() => callback(null), callback)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<NodeDirent, void, void> {
    try {
      for (let entry = await this.read(); entry !== null; entry = await this.read()) yield entry
    } finally {
      await this.close()
    }
  }

  *#list(): Generator<NodeDirent, void, void> {
    for (const { name, kind } of this.#tree.names(this.#at))
      yield new NodeDirent(name, this.path, kind)
  }

  #check(): void {
    if (this.#isClosed)
      throw Object.assign(new Error('Directory handle was closed'), { code: 'ERR_DIR_CLOSED' })
  }
}
