import { expect, test } from "@jest/globals"
import { countOf, userFilter, userFilters } from "./user-filters.ts"

const all = { newestFirst: true }

test("each list has at most one filter, as its index serves it", () => {
  for (const { filter } of Object.values(userFilters)) {
    const { newestFirst: _, ...others } = filter()
    expect(Object.keys(others).length).toBeLessThanOrEqual(1)
  }
  expect(userFilter("disabled")).toEqual({ disabled: true, ...all })
  expect(userFilter("provider:github")).toEqual({ provider: "github" })
})

test("what the address names and is no list is the list of all users", () => {
  for (const name of ["", "provider:", "__proto__", "constructor", "new-8"]) expect(userFilter(name)).toEqual(all)
})

test("all users are counted, and those of a time of creation; others have no index that is counted", () => {
  expect([countOf(userFilter("all")), countOf(userFilter("oldest"))]).toEqual([{}, {}])
  const filter = userFilter("new-7")
  expect(countOf(filter)).toEqual({ createdSince: filter.createdSince })
  for (const name of ["seen", "disabled", "enabled", "provider:github"])
    expect(countOf(userFilter(name))).toBeUndefined()
})
