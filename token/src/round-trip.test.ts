import * as core from "@auth/core/jwt"
import { afterEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { EncryptJWT, jwtDecrypt } from "jose"
import { freeze } from "../test/clock.js"
import { derive } from "../vectors/issue.js"
import { decode, encode } from "./index.js"

afterEach(() => {
  jest.useRealTimers()
})

const text = fc.string({ unit: "binary", maxLength: 60 })
const secret = fc.string({ unit: "binary", minLength: 1, maxLength: 60 })
// The secret in use, as an index into the list of secrets.
const secrets = fc
  .uniqueArray(secret, { minLength: 1, maxLength: 4 })
  .chain((list) => fc.record({ list: fc.constant(list), index: fc.nat(list.length - 1) }))
const reserved = new Set(["iat", "exp", "jti", "nbf", "__proto__"])
const claims = fc.dictionary(
  text.filter((name) => !reserved.has(name)),
  fc.jsonValue({ stringUnit: "binary", maxDepth: 3 }),
  { maxKeys: 8 },
)
const maxAge = fc.integer({ min: 1, max: 100_000_000 })
// JSON.stringify converts -0 to 0.
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value))
const sample = { secrets, salt: text, claims, maxAge }

describe("any claims, with any secrets and salt", () => {
  test("@auth/core decodes tokens of encode", async () => {
    await fc.assert(
      fc.asyncProperty(fc.record(sample), async ({ secrets: { list }, salt, claims, maxAge }) => {
        const token = await encode({ token: claims, secret: list, salt, maxAge })
        const read = await core.decode({ token, secret: list, salt })
        expect(read).toMatchObject(asJson(claims))
        expect((read?.exp ?? 0) - (read?.iat ?? 0)).toBe(maxAge)
        expect(await decode({ token, secret: list, salt })).toEqual(read)
      }),
      { numRuns: 150 },
    )
  })

  test("decode accepts tokens of @auth/core that use any secret of the list", async () => {
    await fc.assert(
      fc.asyncProperty(fc.record(sample), async ({ secrets: { list, index }, salt, claims, maxAge }) => {
        const token = await core.encode({ token: claims, secret: list[index] as string, salt, maxAge })
        const read = await decode({ token, secret: list, salt })
        expect(read).toEqual(await core.decode({ token, secret: list, salt }))
        expect(read).toMatchObject(asJson(claims))
      }),
      { numRuns: 150 },
    )
  })

  test.each(["A256CBC-HS512", "A256GCM"] as const)("decode accepts tokens of jose with %s", async (enc) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ ...sample, named: fc.boolean(), typ: fc.option(text, { nil: undefined }) }),
        async ({ secrets: { list, index }, salt, claims, named, typ }) => {
          const { key, kid } = await derive({ secret: list[index] as string, salt, ...(enc === "A256GCM" && { enc }) })
          const header = { alg: "dir", enc, ...(named && { kid }), ...(typ !== undefined && { typ }) }
          const token = await new EncryptJWT(claims).setProtectedHeader(header).encrypt(key)
          expect(await decode({ token, secret: list, salt })).toEqual(asJson(claims))
          expect(await decode({ token, secret: list, salt })).toEqual((await jwtDecrypt(token, key)).payload)
        },
      ),
      { numRuns: 150 },
    )
  })
})

describe("with the clock stopped", () => {
  const start = 1_800_000_000
  const from = { secret: "secret", salt: "salt" }

  test("a token lives 30 days by default", async () => {
    freeze(start)
    expect(await core.decode({ ...from, token: await encode(from) })).toMatchObject({ exp: start + 2_592_000 })
  })

  test("after 2038, when @auth/core's seconds overflow, the times are right", async () => {
    freeze(3_000_000_000)
    const token = await encode({ ...from, maxAge: 60 })
    expect(await decode({ ...from, token })).toMatchObject({ iat: 3_000_000_000, exp: 3_000_000_060 })
  })
})
