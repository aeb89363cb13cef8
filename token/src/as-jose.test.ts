import { afterEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { freeze } from "../test/clock.js"
import { joses } from "../test/outcome.js"
import { encs, expectAsJose, from, headerText, now, read, token, values } from "../test/strange-token.js"
import { byJose } from "../vectors/issue.js"
import { withPart } from "../vectors/tamper.js"
import { decode } from "./index.js"

// Compares the tokens that decode rejects, and the reasons, with jose's jwtDecrypt under the rules of Auth.js, and with
// @auth/core's decode.

afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

const names = [
  ...["alg", "enc", "kid", "crit", "typ", "cty", "iss", "sub", "aud", "exp", "b64", "epk", "apu", "p2s", "p2c", "iv"],
  ...["tag", "jwk", "jku", "x5c", "x", "", "__proto__", "constructor", "toString", "hasOwnProperty", "toJSON"],
]

describe("a header", () => {
  test.each(names)("with any value for %j", async (name) => {
    freeze(now)
    for (const [index, value] of [undefined, ...values].entries()) {
      const enc = encs[index % encs.length] as (typeof encs)[number]
      await expectAsJose(token(headerText({ [name]: value }, enc), { enc }))
      await expectAsJose(token(headerText({ [name]: value, kid: undefined }, enc), { enc }))
    }
  })
})

/** Generates changes of a part's text, with characters of base64url, of base64 and of neither. */
const changes = fc
  .record({
    at: fc.nat(),
    remove: fc.nat(2),
    insert: fc.constantFrom(
      "",
      " ",
      "\n",
      "\t\f\r",
      "=",
      "==",
      "===",
      "+",
      "/",
      "-",
      "_",
      "A",
      "AA",
      "\v",
      "\0",
      "é",
      "*",
      ".",
    ),
    atEnd: fc.boolean(),
  })
  .map(({ at, remove, insert, atEnd }) => (part: string) => {
    const index = atEnd ? part.length : at % (part.length + 1)
    return part.slice(0, index) + insert + part.slice(index + remove)
  })
const part = fc.constantFrom<0 | 2 | 3 | 4>(0, 2, 3, 4)
const json = fc.oneof(fc.constantFrom(...values), fc.json({ maxDepth: 2 }))

describe("any token", () => {
  test("whose header has one or more changed members", async () => {
    freeze(now)
    const change = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 2 })), fc.option(json), {
      minKeys: 1,
      maxKeys: 3,
    })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...encs), fc.constantFrom(...encs), change, async (enc, other, change) => {
        const cleared = Object.entries(change).map(([name, value]) => [name, value ?? undefined])
        await expectAsJose(token(headerText(Object.fromEntries(cleared), enc), { enc: other }))
      }),
      { numRuns: 200 },
    )
  })

  test("whose parts are changed after encryption", async () => {
    freeze(now)
    const changed = fc.array(fc.tuple(part, changes), { minLength: 1, maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...encs), fc.boolean(), changed, async (enc, named, changed) => {
        let made = token(headerText(named ? {} : { kid: undefined }, enc), { enc })
        for (const [part, change] of changed) made = withPart(made, part, change)
        await expectAsJose(made)
      }),
      { numRuns: 300 },
    )
  })
})

describe("where it differs from jose", () => {
  test("zip: jose decompresses the content, decode rejects the token", async () => {
    freeze(now)
    for (const enc of encs) {
      const made = await byJose({ sub: "1" }, { ...from, ...(enc === "A256GCM" && { enc }) }, { zip: "DEF" })
      expect(await joses(made, from.secret, from.salt)).toEqual({ claims: { sub: "1" } })
      expect(await read(made)).toEqual({ code: "TOKEN_ALGORITHM_NOT_ALLOWED" })
    }
    for (const zip of values)
      expect(await read(token(headerText({ zip })))).toEqual({ code: "TOKEN_ALGORITHM_NOT_ALLOWED" })
  })

  test("a token as bytes: jose decodes it, decode requires a string", async () => {
    freeze(now)
    const octets = Buffer.from(token(headerText({}))) as unknown as string
    expect(await joses(octets, from.secret, from.salt)).toHaveProperty("claims")
    await expect(decode({ ...from, token: octets })).rejects.toMatchObject({ code: "TOKEN_MALFORMED" })
  })
})
