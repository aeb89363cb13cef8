import * as core from "@auth/core/adapters"
import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { isDate } from "./index.js"

/** Generates nearly always a value of the first list, rarely one of the others. */
const mostly = (good: string[], ...bad: string[]) =>
  fc.oneof({ weight: 19, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) })
/** Generates strings that are, or nearly are, a date and time. */
const likely = fc
  .tuple(
    mostly([""], " ", "x", "+00", "1"),
    mostly(["2030", "0001", "9999"], "203", "203x"),
    mostly(["-"], "/", ""),
    mostly(["01", "02", "06", "12"], "00", "13", "19", "2"),
    mostly(["-"], "/", ""),
    mostly(["01", "28", "29", "30", "31"], "00", "32", "39", "40"),
    mostly(["T"], " ", "t", ""),
    mostly(["00", "09", "23"], "24", "29", "30"),
    mostly([":"], "", "."),
    mostly(["00", "59"], "60", "5"),
    mostly(["", ":00", ":59", ":00.1", ":00.123", ":00.123456789"], ":60", ":00.", ".5", ":5"),
    mostly(["Z", "+00:00", "-12:30", "+23:59"], "z", "", "+24:00", "+29:59", "+30:00", "+0000", "+00"),
    mostly([""], " ", "(x)", "Z", "x"),
  )
  .map((parts) => parts.join(""))

test("isDate returns the same as isDate of @auth/core for any string", () => {
  const said = { yes: 0, no: 0 }
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: likely }, { weight: 1, arbitrary: fc.string() }), (text) => {
      said[core.isDate(text) ? "yes" : "no"]++
      expect(isDate(text)).toBe(core.isDate(text))
    }),
    { numRuns: 5000 },
  )
  expect(said.yes).toBeGreaterThan(500)
  expect(said.no).toBeGreaterThan(500)
})

test("isDate returns false for any other value", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      expect(isDate(value)).toBe(core.isDate(value))
    }),
  )
  for (const value of [undefined, null, 0, new Date(), {}, ["2030-01-01T00:00:00Z"]]) expect(isDate(value)).toBe(false)
})
