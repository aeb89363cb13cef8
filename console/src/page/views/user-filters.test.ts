import { expect, test } from "@jest/globals"
import { userFilter, userFilters } from "./user-filters.ts"

test("each list has at most one filter, as its index serves it", () => {
  for (const { filter } of Object.values(userFilters)) expect(Object.keys(filter()).length).toBeLessThanOrEqual(1)
  expect(userFilter("disabled")).toEqual({ disabled: true })
  expect(userFilter("provider:github")).toEqual({ provider: "github" })
})

test("what the address names and is no list is the list of all users", () => {
  for (const name of ["", "provider:", "__proto__", "constructor", "new-8"]) expect(userFilter(name)).toEqual({})
})
