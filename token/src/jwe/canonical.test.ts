import { expect, test } from "@jest/globals"
import fc from "fast-check"
import { base64url } from "jose"
import { isCanonical } from "./token-cache.js"

const octets = fc.uint8Array({ maxLength: 40 })
const parts = fc.tuple(octets, octets, octets, octets)

test("a token as issuers write it is canonical", () => {
  fc.assert(
    fc.property(parts, ([header, ...rest]) => {
      expect(isCanonical([header, new Uint8Array(), ...rest].map((part) => base64url.encode(part)).join("."))).toBe(
        true,
      )
    }),
  )
})

test("of all texts that encode the same bytes, only one is canonical", () => {
  const character = fc.constantFrom(..."ABQRgwxyEIMoz019-_= \t\n")
  fc.assert(
    fc.property(fc.array(character, { maxLength: 12 }), (characters) => {
      const text = characters.join("")
      let octets: Uint8Array
      try {
        octets = base64url.decode(text)
      } catch {
        return
      }
      expect(isCanonical(`AA..${text}.AA.AA`)).toBe(base64url.encode(octets) === text)
    }),
    { numRuns: 5000 },
  )
})
