import { describe, expect, test } from "@jest/globals"
import { breather } from "./breather.js"

/** Pauses that end when they are told to, and how long they are. */
function setUp() {
  const pauses: { ms: number; end(): void }[] = []
  const one = breather((ms) => new Promise<void>((end) => pauses.push({ ms, end })))
  return { one, pauses, lengths: () => pauses.map(({ ms }) => ms) }
}

describe("breather", () => {
  test("few refused calls of a message are no pause, many are", async () => {
    const { one, pauses, lengths } = setUp()
    await one.afterMessage(5)
    expect(lengths()).toEqual([])
    const paused = one.afterMessage(1_000)
    expect(lengths()).toEqual([50])
    pauses[0]?.end()
    await paused
  })

  test("refusing takes a tenth of the time, however many wait", () => {
    for (const readers of [1, 4, 16]) {
      const { one, lengths } = setUp()
      for (let reader = 0; reader < readers; reader++) one.afterMessage(200)
      // Each of them costs a millisecond, and comes again after its pause: the last one waits for all.
      expect(lengths().at(-1)).toBeCloseTo(10 * readers)
    }
  })

  test("pauses that are over do not count", async () => {
    const { one, pauses, lengths } = setUp()
    const paused = [one.afterMessage(200), one.afterMessage(200)]
    for (const { end } of pauses) end()
    await Promise.all(paused)
    one.afterMessage(200)
    expect(lengths().at(-1)).toBe(10)
  })

  test("nobody waits longer than a second, for a refusal or to be read", () => {
    const { one, lengths } = setUp()
    for (let count = 0; count < 1_000; count++) one.beforeRefusal()
    expect(lengths().at(-1)).toBe(1_000)
    for (let count = 0; count < 100; count++) one.afterMessage(4_096)
    expect(lengths().at(-1)).toBe(1_000)
  })

  test("a pipeline does not wait for calls that came alone", () => {
    const { one, lengths } = setUp()
    for (let count = 0; count < 1_000; count++) one.beforeRefusal()
    one.afterMessage(200)
    expect(lengths().at(-1)).toBe(10)
  })
})
