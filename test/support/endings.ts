import { afterEach } from "@jest/globals"

/** Registers a clean-up of a test. */
export type Later = (end: () => Promise<unknown>) => void

/**
 * Returns a function that registers clean-ups of a test. They run in reverse order after it, even if the test fails.
 */
export function endsAfterEach(): Later {
  let stack = new AsyncDisposableStack()
  afterEach(async () => {
    const ended = stack
    stack = new AsyncDisposableStack()
    await ended.disposeAsync()
  })
  return (end) => stack.defer(async () => void (await end()))
}

/**
 * The body of a `test.concurrent`, for which jest runs no hooks: the clean-ups that it registers run in reverse order
 * after it, even if it fails. For tests that mostly wait, and do not disturb each other.
 */
export function withEndings<Arguments extends unknown[]>(
  work: (later: Later, ...given: Arguments) => Promise<void>,
): (...given: Arguments) => Promise<void> {
  return async (...given) => {
    await using stack = new AsyncDisposableStack()
    await work((end) => stack.defer(async () => void (await end())), ...given)
  }
}
