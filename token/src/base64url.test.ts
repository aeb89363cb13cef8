import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { base64url } from "jose"
import { decodeBase64url, encodeBase64url } from "./base64url.js"

/** What a function returns, or "refused". */
function tried<T>(work: () => T): T | "refused" {
  try {
    return work()
  } catch {
    return "refused"
  }
}

describe("base64url", () => {
  test("of octets is that of Node, and goes back", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (array) => {
        const octets = new Uint8Array(array)
        const text = encodeBase64url(octets)
        expect(text).toBe(Buffer.from(octets).toString("base64url"))
        expect(decodeBase64url(text)).toEqual(octets)
      }),
    )
  })

  test("of more octets than a function takes arguments", () => {
    const octets = crypto.getRandomValues(new Uint8Array(65_536))
    const many = new Uint8Array(300_001)
    for (let at = 0; at + octets.length < many.length; at += octets.length) many.set(octets, at)
    expect(encodeBase64url(many)).toBe(Buffer.from(many).toString("base64url"))
    expect(Buffer.compare(decodeBase64url(encodeBase64url(many)), many)).toBe(0)
  })

  test("is read as jose reads it, well formed or not", () => {
    const character = fc.constantFrom(..."ABCZabcz019-_+/= \t\n\f\r\v\0.*é\u00a0\u{1f36a}")
    fc.assert(
      fc.property(fc.array(character, { maxLength: 12 }), (characters) => {
        const text = characters.join("")
        expect(tried(() => decodeBase64url(text))).toEqual(tried(() => base64url.decode(text)))
      }),
      {
        numRuns: 5000,
        examples: [..."A AA AA= AA== AAA= AAAA= AAAA== = == AB A_-+".split(" ")].map((text) => [[text]]),
      },
    )
  })
})
