import { expect, jest, test } from "@jest/globals"
import { rejectionPause } from "./pause.js"

test("who is rejected pauses, the longer the more of them do, and for a second at the most", async () => {
  jest.useFakeTimers({ now: 0 })
  const pause = rejectionPause()
  const ends: [string, number][] = []
  const note = (name: string, pausing: Promise<void>) => pausing.then(() => ends.push([name, Date.now()]))
  note("first", pause(100))
  note("second", pause(100))
  note("many", pause(1_000_000))
  await jest.advanceTimersByTimeAsync(2_000)
  expect(ends).toEqual([
    ["first", 5],
    ["second", 10],
    ["many", 1_000],
  ])
  note("later", pause(100))
  await jest.advanceTimersByTimeAsync(5)
  expect(ends).toHaveLength(4)
  jest.useRealTimers()
})
