// Work that synchronous calls have started: it runs in order, and before the next call of another
// kind.

/** Started work that no caller has awaited yet, and the entries that will exist when it is done. */
export class PendingWork {
  #last: Promise<void> | undefined
  readonly #promised = new Map<string, 'file' | 'directory'>()

  /** Reports whether there is any. */
  get isBusy(): boolean {
    return this.#last !== undefined
  }

  /** Starts work after all earlier work. */
  begin(work: () => Promise<void>): void {
    const started: Promise<void> = (this.#last ?? Promise.resolve()).then(work)
    // The next call of `settled` reports a failure.
    started.catch(() => undefined)
    this.#last = started
  }

  /** Records the kind of entry that will be at a path. */
  promise(path: string, kind: 'file' | 'directory'): void {
    this.#promised.set(path, kind)
  }

  /** Returns the kind of entry that will be at a path. */
  promised(path: string): 'file' | 'directory' | undefined {
    return this.#promised.get(path)
  }

  /** Returns the paths where an entry will be. */
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
