import { expect, test } from "@jest/globals"
import { fewAtOnce } from "./few-at-once.ts"

test("work is done for each item, four at a time, and the results are in order", async () => {
  let active = 0
  let most = 0
  const results = await fewAtOnce([...Array(10).keys()], async (item) => {
    active += 1
    most = Math.max(most, active)
    // Some are overtaken by later ones.
    for (let turns = item % 3; turns >= 0; turns -= 1) await Promise.resolve()
    active -= 1
    return item * 2
  })
  expect(results).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
  expect(most).toBe(4)
})

test("fails with the first error; and is empty for no items", async () => {
  const failing = fewAtOnce([1, 2, 3], async (item) => {
    if (item === 2) throw new Error("two")
  })
  await expect(failing).rejects.toThrow("two")
  expect(await fewAtOnce([], async () => 1)).toEqual([])
})
