import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { parseCookies as coreParseCookies } from "../../test/core.js"
import { parseCookies } from "./session-credential.js"

test("parseCookies parses any header as @auth/core does", () => {
  const scrap = fc.constantFrom(
    ...[";", ";", "=", "=", " ", "\t", '"', "%", "%41", "%zz", "a", "b", "a.0", "__proto__"],
  )
  const header = fc.oneof(
    fc.array(scrap, { maxLength: 30 }).map((scraps) => scraps.join("")),
    fc.string({ unit: "binary" }),
  )
  fc.assert(
    fc.property(header, (header) => {
      // In @auth/core the header "=" contains no cookie, and "= " one without a name.
      fc.pre(header !== "=")
      expect([...parseCookies(header)].toSorted()).toEqual(Object.entries(coreParseCookies(header)).toSorted())
    }),
    { numRuns: 3000 },
  )
})

test("parseCookies takes linear time", () => {
  const start = performance.now()
  expect(parseCookies(`a=b${" ".repeat(2_000_000)}c`).size).toBe(1)
  expect(parseCookies("=".repeat(2_000_000)).size).toBe(1)
  // In milliseconds. With quadratic time it would be hours.
  expect(performance.now() - start).toBeLessThan(5000)
})
