import { expect, test } from "@jest/globals"
import { largeRows, largeRowsPerStatement } from "./rows-at-once.js"

test("a tenant has large rows while its pages are full of a few", () => {
  const large = largeRows()
  expect(large.has("t")).toBe(false)
  large.found("t", 1, true)
  expect([large.has("t"), large.has("other")]).toEqual([true, false])
  // The list has an end, or goes on.
  large.found("t", 1, false)
  large.found("t", largeRowsPerStatement, false)
  expect(large.has("t")).toBe(true)
  large.found("t", largeRowsPerStatement + 1, true)
  expect(large.has("t")).toBe(false)
})
