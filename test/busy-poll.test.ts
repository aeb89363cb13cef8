import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { busyPoll as ofTheClient } from "../client/dist/busy-poll.js"
import { busyPoll as ofTheServer } from "../server/dist/store/sql/busy-poll.js"

describe.each([
  ["client", ofTheClient],
  ["server", ofTheServer],
])("busy polling of the %s", (_name, busyPoll) => {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  /** Whether the event loop would not sleep now. */
  const isAwake = () => jest.getTimerCount() > 0
  /** Half a millisecond, and what the event loop does then. */
  const halfMs = () => jest.advanceTimersByTime(0.5)
  /** Waits so many halves of a millisecond; whether the event loop is awake at first. Another number if it sleeps. */
  const takes = (wait: ReturnType<typeof busyPoll>, halves: number, asleep = halves) => {
    wait.begin()
    const wasAwake = isAwake()
    for (let i = 0; i < (wasAwake ? halves : asleep); i++) halfMs()
    wait.end()
    return wasAwake
  }

  test("the event loop stays awake while one is waited for", () => {
    const wait = busyPoll(2, 2)
    expect(isAwake()).toBe(false)
    wait.begin()
    for (let i = 0; i < 3; i++) {
      expect(isAwake()).toBe(true)
      halfMs()
    }
    wait.end()
    halfMs()
    expect(isAwake()).toBe(false)
  })

  test("for so long and no longer", () => {
    const wait = busyPoll(2, 2)
    wait.begin()
    for (let i = 0; i < 5; i++) halfMs()
    expect(isAwake()).toBe(false)
  })

  test("not while more are waited for", () => {
    const wait = busyPoll(2, 2)
    wait.begin()
    wait.begin()
    halfMs()
    expect(isAwake()).toBe(false)
  })

  test("not when it usually takes longer, and again when it does not", () => {
    const wait = busyPoll(2, 2)
    const slow = Array.from({ length: 20 }, () => takes(wait, 10))
    expect(slow.slice(0, 4)).toEqual([true, true, true, true])
    expect(slow.at(-1)).toBe(false)
    const fast = Array.from({ length: 20 }, () => takes(wait, 1))
    expect(fast[0]).toBe(false)
    expect(fast.at(-1)).toBe(true)
  })

  test("also while two of five take long: what counts is how many, not how much", () => {
    const wait = busyPoll(2, 2)
    const mixed = Array.from({ length: 100 }, (_, index) => takes(wait, index % 5 === 0 || index % 5 === 3 ? 100 : 3))
    expect(mixed.every(Boolean)).toBe(true)
  })

  test("again when it only takes longer because it is slept through", () => {
    const wait = busyPoll(2, 2)
    while (takes(wait, 10));
    // Tried now and then, in vain.
    const slow = Array.from({ length: 640 }, () => takes(wait, 10))
    expect(slow.filter(Boolean)).toHaveLength(10)
    const far = Array.from({ length: 100 }, () => takes(wait, 1, 10))
    expect(far.indexOf(true)).toBeLessThan(64)
    expect(far.slice(far.indexOf(true)).every(Boolean)).toBe(true)
  })

  test.each([
    ["when it may not", 0, 2],
    ["with a single core", 2, 1],
  ])("never %s", (_when, maxMs, cores) => {
    const wait = busyPoll(maxMs, cores)
    wait.begin()
    expect(isAwake()).toBe(false)
    wait.end()
    wait.begin()
    expect(isAwake()).toBe(false)
  })
})
