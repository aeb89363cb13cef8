import { expect, test } from "@jest/globals"
import { Budget } from "./budget.js"

test("a budget gives no more than it has, and is tight before", () => {
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

test("what is taken of budgets that belong to a larger one is taken of both, and given back to both", () => {
  const larger = new Budget(15, 12)
  const [one, other] = [new Budget(10), new Budget(10)]
  expect(one.take(8)).toBe(true)
  one.belongTo(larger)
  other.belongTo(larger)
  expect(() => one.belongTo(larger)).toThrow("belongs")
  // The larger one has 7 left.
  expect(other.take(8)).toBe(false)
  expect(other.take(7)).toBe(true)
  expect([one, other, larger].map(({ isTight }) => isTight)).toEqual([true, true, true])
  one.give(8)
  expect(other.isTight).toBe(false)
  // Its own bound counts as before, and nothing was taken of the larger one.
  expect(one.take(11)).toBe(false)
  expect(one.take(8)).toBe(true)
  other.give(7)
  one.give(8)
  expect(larger.take(15)).toBe(true)
})
