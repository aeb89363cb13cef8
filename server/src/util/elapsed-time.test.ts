import { expect, test } from "@jest/globals"
import { elapsedTime } from "./elapsed-time.js"

function clocks() {
  const state = { monotonic: 0, ahead: 1_000_000, heldUpMs: 0 }
  const now = elapsedTime(
    () => state.monotonic,
    () => {
      state.monotonic += state.heldUpMs
      const time = state.ahead + state.monotonic
      state.monotonic += state.heldUpMs
      return time
    },
  )
  return { state, now }
}

test("it advances while the machine, and with it the monotonic clock, is suspended", () => {
  const { state, now } = clocks()
  state.monotonic += 100
  expect(now()).toBe(100)
  state.ahead += 5_000
  expect(now()).toBe(5_100)
  state.monotonic += 10
  expect(now()).toBe(5_110)
})

test("setting the wall clock back changes nothing, and a later jump forward counts", () => {
  const { state, now } = clocks()
  state.ahead -= 60_000
  expect(now()).toBe(0)
  state.ahead += 200
  expect(now()).toBe(200)
})

test("a delay between the reads of the two clocks does not count as a suspension", () => {
  const { state, now } = clocks()
  for (let call = 0; call < 3; call++) {
    state.heldUpMs = 700
    now()
    state.heldUpMs = 0
    expect(now()).toBe(state.monotonic)
  }
})
