import { afterEach } from "@jest/globals"

/** Returns what takes the ends of things that a test starts: they come in reverse after it, also when it fails. */
export function endsAfterEach(): (end: () => Promise<unknown>) => void {
  let stack = new AsyncDisposableStack()
  afterEach(async () => {
    const ended = stack
    stack = new AsyncDisposableStack()
    await ended.disposeAsync()
  })
  return (end) => stack.defer(async () => void (await end()))
}
