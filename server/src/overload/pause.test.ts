import { expect, jest, test } from "@jest/globals"
import { rejectionPause } from "./pause.js"

test("S-45: rejections pause, longer the more of them there are, and for at most a second", async () => {
  jest.useFakeTimers({ now: 0 })
  const pause = rejectionPause()
  const ends: [string, number][] = []
  const note = (name: string, pausing: Promise<void>) => pausing.then(() => ends.push([name, Date.now()]))
  note("first", pause(0.5))
  note("second", pause(0.5))
  note("many", pause(5_000))
  await jest.advanceTimersByTimeAsync(2_000)
  expect(ends).toEqual([
    ["first", 5],
    ["second", 10],
    ["many", 1_000],
  ])
  note("later", pause(0.5))
  await jest.advanceTimersByTimeAsync(5)
  expect(ends).toHaveLength(4)
  jest.useRealTimers()
})

test("what continues after pauses that end together does so in several turns of the event loop", async () => {
  const pause = rejectionPause()
  let inTurn = 0
  let most = 0
  const nextTurn = () => {
    inTurn = 0
  }
  await Promise.all(
    Array.from({ length: 60 }, async () => {
      await pause(5_000)
      if (inTurn === 0) setImmediate(nextTurn)
      inTurn++
      most = Math.max(most, inTurn)
      for (const end = performance.now() + 1; performance.now() < end; );
    }),
  )
  expect(most).toBeLessThan(10)
})
