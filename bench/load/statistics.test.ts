import { expect, test } from "@jest/globals"
import { median, openTimes, randomNumbers } from "./statistics.ts"

test("the median is in the middle, whatever the order", () => {
  expect(median([10, 9, 100])).toBe(10)
  expect(median([4, 1, 100, 2])).toBe(3)
  expect(median([])).toBeNaN()
})

test("a percentile is a time that so many do not exceed", () => {
  const hundred = openTimes(Array.from({ length: 100 }, (_, index) => index + 1))
  expect(hundred.percentile(50)).toBeCloseTo(50, 1)
  expect(hundred.percentile(99)).toBeCloseTo(99, 0)
  expect(openTimes([]).percentile(50)).toBe(0)
})

test("random numbers are the same for the same seed, and fall everywhere from 0 up to 1", () => {
  const take = (seed: number) => Array.from({ length: 1_000 }, randomNumbers(seed))
  expect(take(1)).toEqual(take(1))
  expect(take(1)).not.toEqual(take(2))
  for (let tenth = 0; tenth < 10; tenth++)
    expect(take(3).filter((value) => Math.floor(value * 10) === tenth).length).toBeGreaterThan(60)
})
