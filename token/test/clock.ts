import { jest } from "@jest/globals"

/** Stops the clock of Date at a time in seconds. Timers and promises go on. `jest.useRealTimers()` ends it. */
export function freeze(seconds: number): void {
  jest.useFakeTimers({
    now: seconds * 1000,
    doNotFake: [
      "hrtime",
      "nextTick",
      "performance",
      "queueMicrotask",
      "setImmediate",
      "clearImmediate",
      "setInterval",
      "clearInterval",
      "setTimeout",
      "clearTimeout",
    ],
  })
}
