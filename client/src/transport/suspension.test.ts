import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import { type SuspensionWatch, watchSuspension } from "./suspension.js"

let watch: SuspensionWatch
let time: number
let resumed: number
beforeEach(() => {
  jest.useFakeTimers()
  time = 1_700_000_000_000
  resumed = 0
  watch = watchSuspension(
    () => {
      resumed++
    },
    () => time,
  )
})
afterEach(() => {
  watch.stop()
  jest.useRealTimers()
})

/** Advances the time while the process runs. */
function run(ms: number): void {
  for (let left = ms; left > 0; left -= 100) {
    time += 100
    jest.advanceTimersByTime(100)
  }
}

describe("watchSuspension", () => {
  test("a running process, with or without calls, is not suspended", () => {
    watch.look()
    run(60_000)
    watch.look()
    expect(resumed).toBe(0)
  })

  test.each([1_000, 30_000, 400_000])("a suspension of %i ms is reported once", (ms) => {
    watch.look()
    run(2_400)
    time += ms
    watch.look()
    watch.look()
    run(2_000)
    expect(resumed).toBe(1)
  })

  test("a suspension is reported without a call too, as soon as timers run again", () => {
    watch.look()
    time += 1_000
    run(500)
    expect(resumed).toBe(1)
  })

  test("suspensions before the first look and after the end of the watch do not count", () => {
    time += 10_000
    watch.look()
    watch.stop()
    run(10_000)
    watch.look()
    expect(resumed).toBe(0)
  })

  test("a clock that is set back is not a suspension, and does not hide one", () => {
    watch.look()
    time -= 3_600_000
    watch.look()
    expect(resumed).toBe(0)
    time += 1_000
    watch.look()
    expect(resumed).toBe(1)
  })
})
