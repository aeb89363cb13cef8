import * as core from "@auth/core/jwt"
import { afterEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { EncryptJWT, jwtDecrypt } from "jose"
import { freeze } from "../test/clock.js"
import { failure } from "../test/failure.js"
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

  test("jose decrypts tokens of encode with the derived key, and computes the same kid", async () => {
    await fc.assert(
      fc.asyncProperty(fc.record(sample), async ({ secrets: { list }, salt, claims, maxAge }) => {
        const token = await encode({ token: claims, secret: list, salt, maxAge })
        const { key, kid } = await derive({ secret: list[0] as string, salt })
        const { payload, protectedHeader } = await jwtDecrypt(token, key)
        expect(payload).toMatchObject(asJson(claims))
        expect(protectedHeader).toEqual({ alg: "dir", enc: "A256CBC-HS512", kid })
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

  test("two tokens with the same claims have only the header in common", async () => {
    await fc.assert(
      fc.asyncProperty(fc.record(sample), async ({ secrets: { list }, salt, claims }) => {
        const tokens = await Promise.all(Array.from({ length: 4 }, () => encode({ token: claims, secret: list, salt })))
        const parts = tokens.map((token) => token.split("."))
        for (const part of [2, 3, 4]) expect(new Set(parts.map((each) => each[part])).size).toBe(4)
        expect(new Set(parts.map(([header]) => header)).size).toBe(1)
      }),
      { numRuns: 30 },
    )
  })

  test("another secret or another salt does not decrypt a token", async () => {
    await fc.assert(
      fc.asyncProperty(secret, secret, text, text, async (one, other, salt, otherSalt) => {
        const token = await encode({ secret: one, salt })
        if (one !== other) expect(await failure(decode({ token, secret: other, salt }))).toMatchObject(noMatch)
        if (salt !== otherSalt)
          expect(await failure(decode({ token, secret: one, salt: otherSalt }))).toMatchObject(noMatch)
      }),
      { numRuns: 100, examples: [["ab", "a", "c", "bc"]] },
    )
  })
})

const noMatch = { code: "NO_MATCHING_SECRET" }

test("a token with one changed character has the same outcome as in @auth/core", async () => {
  const from = { secret: ["one", "two"], salt: "salt" }
  const token = await encode({ ...from, token: { sub: "1" } })
  const claims = await decode({ ...from, token })
  const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ "
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...base64url), async (at, character) => {
      const changed = token.slice(0, at) + character + token.slice(at + 1)
      const error = await failure(decode({ ...from, token: changed }))
      const coreError = await failure(core.decode({ ...from, token: changed }))
      expect(error === undefined).toBe(coreError === undefined)
      if (error === undefined) expect(await decode({ ...from, token: changed })).toEqual(claims)
      else expect(error).toMatchObject({ code: expect.stringMatching(/^(TOKEN_[A-Z_]+|NO_MATCHING_SECRET)$/) })
    }),
    { numRuns: 400 },
  )
})

test("any text is rejected with a code", async () => {
  const part = fc.oneof(fc.base64String(), text, fc.json().map(btoaUrl))
  const tokens = fc.oneof(
    text,
    fc.array(part, { maxLength: 7 }).map((parts) => parts.join(".")),
  )
  await fc.assert(
    fc.asyncProperty(tokens, async (token) => {
      const error = await failure(decode({ token, secret: "secret", salt: "salt" }))
      if (token === "") expect(error).toBeUndefined()
      else expect(error).toMatchObject({ code: expect.stringMatching(/^TOKEN_/) })
    }),
    { numRuns: 300 },
  )
})

function btoaUrl(json: string): string {
  return Buffer.from(json).toString("base64url")
}

describe("with the clock stopped", () => {
  const start = 1_800_000_000
  const from = { secret: "secret", salt: "salt" }

  test.each([-3600, -1, 0, 14])("a token that expired %i s ago is accepted", async (seconds) => {
    freeze(start)
    const token = await encode({ ...from, maxAge: 100 })
    freeze(start + 100 + seconds)
    expect(await decode({ ...from, token })).toMatchObject({ iat: start, exp: start + 100 })
  })

  test.each([15, 16, 3600])("a token that expired %i s ago is rejected", async (seconds) => {
    freeze(start)
    const token = await encode({ ...from, maxAge: 100 })
    freeze(start + 100 + seconds)
    await expect(decode({ ...from, token })).rejects.toMatchObject({
      name: "TokenExpired",
      code: "TOKEN_EXPIRED",
      message: "the token has expired",
    })
  })

  test.each([
    [15, undefined],
    [16, "TOKEN_NOT_YET_VALID"],
  ])("a token that is valid in %i s: %s", async (seconds, code) => {
    freeze(start)
    const token = await encode({ ...from, token: { nbf: start + seconds } })
    const error = await failure(decode({ ...from, token }))
    if (code === undefined) expect(error).toBeUndefined()
    else expect(error).toMatchObject({ name: "TokenNotYetValid", code, message: "the token is not valid yet" })
  })

  test("to the millisecond, @auth/core and decode agree on what has expired", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: -30_000, max: 30_000 }), fc.boolean(), async (ms, ours) => {
        freeze(start)
        const token = await (ours ? encode : core.encode)({ ...from, maxAge: 0 })
        freeze(start + ms / 1000)
        const error = await failure(decode({ ...from, token }))
        expect(error === undefined).toBe((await failure(core.decode({ ...from, token }))) === undefined)
      }),
      { numRuns: 150 },
    )
  })

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
