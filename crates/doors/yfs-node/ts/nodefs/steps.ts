// Operations that can run at once or with promises: each is written once, as a generator that
// yields its calls.

import type { Pacer } from '../pages.js'

/** What an operation asks for, in both forms. */
export interface Ask {
  now(): unknown
  later(): Promise<unknown>
}

/** An operation: it yields what it asks for, and is given the answers. */
export type Steps<T> = Generator<Ask, T, never>

/** Yields a call that has both forms, and returns its result. */
export function* ask<T>(now: () => T, later: () => Promise<T>): Steps<T> {
  return yield { now, later }
}

/** Lets others have their turn where much is done, unless it is to be done at once. */
export function* pause(pacer: Pacer): Steps<void> {
  yield* ask(
    () => undefined,
    () => pacer.pause(),
  )
}

/** Runs an operation on the spot. */
export function runNow<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) {
    let answer: unknown
    try {
      answer = step.value.now()
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer as never)
  }
  return step.value
}

/** Runs an operation with promises. An error before its first call is a rejection as well. */
export async function run<T>(steps: Steps<T>): Promise<T> {
  return goOn(steps, steps.next())
}

/** Runs an operation that has taken its first step. */
export async function goOn<T>(steps: Steps<T>, first: IteratorResult<Ask, T>): Promise<T> {
  let step = first
  while (!step.done) {
    let answer: unknown
    try {
      answer = await step.value.later()
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer as never)
  }
  return step.value
}

/** Runs operations of several steps one at a time. Synchronous operations do not wait. */
export class OperationQueue {
  #last: Promise<void>

  constructor() {
    this.#last = Promise.resolve()
  }

  *run<T>(work: () => Steps<T>): Steps<T> {
    let done = (): void => undefined
    yield* ask(
      () => undefined,
      () => {
        const before = this.#last
        this.#last = new Promise((resolve) => {
          done = resolve
        })
        return before
      },
    )
    try {
      return yield* work()
    } finally {
      done()
    }
  }
}
