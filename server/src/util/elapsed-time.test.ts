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

test("it goes on while the machine stands still, and with it the monotonic clock", () => {
  const { state, now } = clocks()
  state.monotonic += 100
  expect(now()).toBe(100)
  state.ahead += 5_000
  expect(now()).toBe(5_100)
  state.monotonic += 10
  expect(now()).toBe(5_110)
})

test("a time of day that is set back changes nothing, and what it runs ahead from then on counts", () => {
  const { state, now } = clocks()
  state.ahead -= 60_000
  expect(now()).toBe(0)
  state.ahead += 200
  expect(now()).toBe(200)
})

test("who is held up between the two clocks has not stood still", () => {
  const { state, now } = clocks()
  for (let call = 0; call < 3; call++) {
    state.heldUpMs = 700
    now()
    state.heldUpMs = 0
    expect(now()).toBe(state.monotonic)
  }
})
