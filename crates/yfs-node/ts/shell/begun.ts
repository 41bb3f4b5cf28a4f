// What synchronous calls have begun: it is done in order, and before the next call of another kind.

/** Work that nobody has awaited yet, and what will be there when it is done. */
export class Begun {
  #last: Promise<void> | undefined
  readonly #promised = new Map<string, 'file' | 'directory'>()

  /** Tells whether there is any. */
  get isBusy(): boolean {
    return this.#last !== undefined
  }

  /** Does something after what was begun before. */
  begin(work: () => Promise<void>): void {
    const begun: Promise<void> = (this.#last ?? Promise.resolve()).then(work)
    // Whoever asks next is told of a failure.
    begun.catch(() => undefined)
    this.#last = begun
  }

  /** Says what will be at a path. */
  promise(path: string, kind: 'file' | 'directory'): void {
    this.#promised.set(path, kind)
  }

  /** Returns what will be at a path. */
  promised(path: string): 'file' | 'directory' | undefined {
    return this.#promised.get(path)
  }

  /** Returns where something will be. */
  paths(): IterableIterator<string> {
    return this.#promised.keys()
  }

  /** Waits until all is done. */
  async settled(): Promise<void> {
    while (this.#last) {
      const last = this.#last
      try {
        await last
      } finally {
        if (this.#last === last) {
          this.#last = undefined
          this.#promised.clear()
        }
      }
    }
  }
}
