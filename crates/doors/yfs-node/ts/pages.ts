// Long answers, read page by page: others have their turn between.

import { asking } from './errors.js'
import { clock, soon } from './globals.js'
import type { NativePages } from './native.js'

/** How long the event loop is kept at once, in milliseconds. */
const TURN_MS = 1

/** Lets others have their turn, if this one has taken long. */
export class Pacer {
  #since = clock.now()

  async pause(): Promise<void> {
    if (clock.now() - this.#since < TURN_MS) return
    await new Promise<void>((resolve) => soon(resolve))
    this.#since = clock.now()
  }
}

/** Yields the items of a long answer, page by page, and keeps no page. */
export async function* each<T>(call: () => Promise<NativePages>): AsyncGenerator<T, void, void> {
  const pages = await asking(call)
  const pacer = new Pacer()
  for (let page = pages.next(); page !== null; page = pages.next()) {
    yield* JSON.parse(page) as T[]
    await pacer.pause()
  }
}

/** Reads all items of a long answer. */
export async function gathered<T>(call: () => Promise<NativePages>): Promise<T[]> {
  return (await gatheredWith<T, null>(call))[0]
}

/** Reads all items of a long answer, and what there is beside them. */
export async function gatheredWith<T, R>(call: () => Promise<NativePages>): Promise<[T[], R]> {
  const pages = await asking(call)
  const pacer = new Pacer()
  const items: T[] = []
  for (let page = pages.next(); page !== null; page = pages.next()) {
    for (const item of JSON.parse(page) as T[]) items.push(item)
    await pacer.pause()
  }
  return [items, JSON.parse(pages.rest) as R]
}
