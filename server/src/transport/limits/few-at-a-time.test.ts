import { setImmediate as nextTurn } from "node:timers/promises"
import { expect, test } from "@jest/globals"
import { fewAtATime, perTurn } from "./few-at-a-time.js"

function setUp() {
  const handled: number[] = []
  let isKnown = false
  let next = 0
  const inTurns = fewAtATime(() => isKnown)
  return {
    /** Lets requests arrive. */
    arrive(requests: number) {
      for (let left = requests; left > 0; left--) {
        const request = next++
        inTurns(() => handled.push(request))
      }
    },
    admit: () => (isKnown = true),
    /** Returns the requests that were handled since the last call. */
    handled: () => handled.splice(0),
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

test("S-40: of the requests that a connection without an admitted call sends at once, few are handled in a turn, in order", async () => {
  const { arrive, handled } = setUp()
  arrive(2 * perTurn)
  expect(handled()).toEqual(range(0, perTurn))
  await nextTurn()
  // One that arrives later waits behind those that wait.
  arrive(2)
  expect(handled()).toEqual(range(perTurn, 2 * perTurn))
  await nextTurn()
  expect(handled()).toEqual(range(2 * perTurn, 2 * perTurn + 2))
  await nextTurn()
  arrive(perTurn + 1)
  expect(handled()).toHaveLength(perTurn)
})

test("S-40: once a call was admitted, all that wait are handled, and those that arrive later at once", async () => {
  const { arrive, admit, handled } = setUp()
  arrive(4 * perTurn)
  admit()
  arrive(1)
  expect(handled()).toEqual(range(0, perTurn))
  await nextTurn()
  expect(handled()).toEqual(range(perTurn, 4 * perTurn + 1))
  arrive(4 * perTurn)
  expect(handled()).toHaveLength(4 * perTurn)
})
