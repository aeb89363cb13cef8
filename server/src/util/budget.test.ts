import { expect, test } from "@jest/globals"
import { Budget } from "./budget.js"

test("a budget is not exceeded, and is tight before it is used up", () => {
  const budget = new Budget(10, 6)
  expect(budget.take(5)).toBe(true)
  expect(budget.isTight).toBe(false)
  expect(budget.take(6)).toBe(false)
  expect(budget.take(5)).toBe(true)
  expect(budget.isTight).toBe(true)
  expect(budget.take(1)).toBe(false)
  budget.give(5)
  expect(budget.isTight).toBe(false)
  expect(budget.take(5)).toBe(true)
})

test("bytes of a budget that belongs to a larger one are reserved in both, and released in both", () => {
  const largest = new Budget(16)
  const larger = new Budget(15, 12, undefined, largest)
  const [one, other] = [new Budget(10), new Budget(10)]
  expect(one.take(8)).toBe(true)
  one.belongTo(larger)
  other.belongTo(larger)
  expect([largest.take(9), largest.take(8)]).toEqual([false, true])
  largest.give(8)
  expect(() => one.belongTo(larger)).toThrow("belongs")
  // The larger budget has 7 bytes left.
  expect(other.take(8)).toBe(false)
  expect(other.take(7)).toBe(true)
  expect([one, other, larger].map(({ isTight }) => isTight)).toEqual([true, true, true])
  one.give(8)
  expect(other.isTight).toBe(false)
  // Its own limit still applies, and nothing was reserved in the larger one.
  expect(one.take(11)).toBe(false)
  expect(one.take(8)).toBe(true)
  other.give(7)
  one.give(8)
  expect(larger.take(15)).toBe(true)
})
