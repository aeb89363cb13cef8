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

test("a process that does not answer ten pings is reported as silent at the next one", () => {
  let answers = true
  const { beat, silent, seconds } = setUp(() => answers)
  seconds(100)
  answers = false
  seconds(10)
  expect(silent).toEqual([])
  seconds(1)
  expect(silent).toEqual(["it has been unresponsive for 10 seconds"])
  beat.stop()
  seconds(100)
  expect(silent).toHaveLength(1)
})

test("a process that answers one of ten pings is not reported", () => {
  let asked = 0
  const { beat, silent, seconds } = setUp(() => ++asked % 10 === 0)
  seconds(1_000)
  expect(silent).toEqual([])
  beat.stop()
})

test("a process may take a minute until its first message", () => {
  const { beat, silent, seconds } = setUp(() => false)
  seconds(60)
  expect(silent).toEqual([])
  seconds(1)
  expect(silent).toEqual(["it has been unresponsive for 60 seconds"])
  beat.stop()
})
