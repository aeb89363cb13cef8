import { afterEach, beforeEach, expect, jest, test } from "@jest/globals"
import { heartbeat } from "./heartbeat.js"

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

function setUp(answers: () => boolean) {
  const silent: string[] = []
  const beat = heartbeat(
    () => {
      if (answers()) beat.heard()
    },
    (reason) => silent.push(reason),
  )
  return { beat, silent, seconds: (count: number) => jest.advanceTimersByTime(count * 1_000) }
}

test("who does not answer ten questions is silent, at the next", () => {
  let answers = true
  const { beat, silent, seconds } = setUp(() => answers)
  seconds(100)
  answers = false
  seconds(10)
  expect(silent).toEqual([])
  seconds(1)
  expect(silent).toEqual(["it has stood still for 10 seconds"])
  beat.stop()
  seconds(100)
  expect(silent).toHaveLength(1)
})

test("whoever answers in between is not", () => {
  let asked = 0
  const { beat, silent, seconds } = setUp(() => ++asked % 10 === 0)
  seconds(1_000)
  expect(silent).toEqual([])
  beat.stop()
})

test("who was not heard of yet may take a minute", () => {
  const { beat, silent, seconds } = setUp(() => false)
  seconds(60)
  expect(silent).toEqual([])
  seconds(1)
  expect(silent).toEqual(["it has stood still for 60 seconds"])
  beat.stop()
})
