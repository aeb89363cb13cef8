import { afterEach } from "@jest/globals"

/**
 * Returns a function that registers clean-ups of a test. They run in reverse order after it, even if the test fails.
 */
export function endsAfterEach(): (end: () => Promise<unknown>) => void {
  let stack = new AsyncDisposableStack()
  afterEach(async () => {
    const ended = stack
    stack = new AsyncDisposableStack()
    await ended.disposeAsync()
  })
  return (end) => stack.defer(async () => void (await end()))
}
