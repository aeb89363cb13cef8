import { expect, test } from "@jest/globals"
import { growth, ratio } from "./measured.ts"

test("a ratio compares within a round, and is the median over the rounds", () => {
  expect(ratio([2, 20, 2], [1, 10, 1])).toBe(2)
  expect(ratio([1, 2, 9], [1, 1, 1])).toBe(2)
})

test("what grows only while it warms up does not grow", () => {
  const values = (value: (index: number) => number) => Array.from({ length: 50 }, (_, index) => value(index))
  expect(growth(values((index) => Math.min(100, 50 + index * 5)))).toBe(1)
  expect(growth(values((index) => 100 + index))).toBeGreaterThan(1.1)
})
