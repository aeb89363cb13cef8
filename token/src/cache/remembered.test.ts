import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { freeze } from "../../test/clock.js"
import { byJose } from "../../vectors/issue.js"
import { createTokenModule, decode, encode, TokenError } from "../index.js"

// A token that is decoded again is not decrypted again. Apart from that, caching changes no result.

const now = 1_800_000_000
const salt = "salt"
const from = { secret: "secret", salt }

let decrypted: jest.SpiedFunction<typeof crypto.subtle.decrypt>
beforeEach(() => {
  freeze(now)
  decrypted = jest.spyOn(crypto.subtle, "decrypt")
})
afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

const noMatch = { code: "NO_MATCHING_SECRET" }

describe("a token that was decoded before", () => {
  test("is not decrypted again, whichever of the given secrets belongs to it", async () => {
    const tokens = createTokenModule()
    const token = await encode({ ...from, token: { sub: "1" } })
    for (const secret of ["secret", ["secret"], ["new", "secret"], ["secret", "old"], ["", "secret"]]) {
      expect(await tokens.decode({ token, secret, salt })).toMatchObject({ sub: "1" })
    }
    expect(decrypted).toHaveBeenCalledTimes(1)
  })

  test("is not decrypted again by getToken, nor by the exported functions of the package", async () => {
    const tokens = createTokenModule()
    const token = await encode({ secret: "secret", salt: "authjs.session-token", token: { sub: "1" } })
    const req = { headers: { authorization: `Bearer ${token}` } }
    for (const { getToken } of [tokens, tokens, { getToken: tokens.getToken }]) {
      expect(await getToken({ req, secret: "secret", secureCookie: false })).toMatchObject({ sub: "1" })
    }
    expect(decrypted).toHaveBeenCalledTimes(1)
    for (let count = 0; count < 3; count++) await decode({ token, secret: "secret", salt: "authjs.session-token" })
    expect(decrypted).toHaveBeenCalledTimes(2)
  })

  test("is not available to a tenant with other secrets or another salt", async () => {
    const tokens = createTokenModule()
    const token = await encode({ ...from, token: { sub: "1" } })
    for (let count = 0; count < 3; count++) {
      await tokens.decode({ ...from, token })
      await expect(tokens.decode({ token, secret: "of another tenant", salt })).rejects.toMatchObject(noMatch)
      await expect(tokens.decode({ token, secret: ["a", "b", "secret "], salt })).rejects.toMatchObject(noMatch)
      await expect(tokens.decode({ token, secret: "secret", salt: "other" })).rejects.toMatchObject(noMatch)
      // The concatenation of secret and salt is the same.
      await expect(tokens.decode({ token, secret: "secrets", salt: "alt" })).rejects.toMatchObject(noMatch)
      await expect(tokens.decode({ token, secret: "", salt })).rejects.toMatchObject({ code: "MISSING_SECRET" })
    }
  })

  test("expires exactly 15 seconds after exp", async () => {
    const tokens = createTokenModule()
    const token = await encode({ ...from, token: { sub: "1" }, maxAge: 100 })
    for (const seconds of [0, 99, 100, 114]) {
      freeze(now + seconds)
      expect(await tokens.decode({ ...from, token })).toMatchObject({ sub: "1" })
    }
    expect(decrypted).toHaveBeenCalledTimes(1)
    for (const seconds of [115, 116, 100_000]) {
      freeze(now + seconds)
      await expect(tokens.decode({ ...from, token })).rejects.toMatchObject({ code: "TOKEN_EXPIRED" })
    }
    // The token was removed from the cache when it was found to have expired.
    expect(decrypted).toHaveBeenCalledTimes(3)
  })

  test("returns a new object to each caller", async () => {
    const tokens = createTokenModule()
    const token = await encode({ ...from, token: { sub: "1", groups: ["a", { b: 1 }] } })
    const expected = structuredClone(await tokens.decode({ ...from, token }))
    const all = await Promise.all(Array.from({ length: 10 }, () => tokens.decode({ ...from, token })))
    for (const claims of all) {
      expect(claims).toEqual(expected)
      const { groups } = claims as unknown as { groups: { b?: number }[] }
      ;(groups[1] as { b?: number }).b = 2
      groups.length = 1
      Object.assign(claims as object, { sub: "2", exp: 0 })
    }
    expect(await tokens.decode({ ...from, token })).toEqual(expected)
    expect(decrypted).toHaveBeenCalledTimes(1)
  })
})

describe("tokens that are not cached", () => {
  test("a token that was rejected", async () => {
    const tokens = createTokenModule()
    const expired = await encode({ ...from, maxAge: -100 })
    const early = await encode({ ...from, token: { nbf: now + 100 } })
    const other = await byJose([], from)
    for (let count = 1; count <= 3; count++) {
      for (const token of [expired, early, other]) {
        await expect(tokens.decode({ ...from, token })).rejects.toThrow(TokenError)
      }
      expect(decrypted).toHaveBeenCalledTimes(3 * count)
    }
    freeze(now + 100)
    expect(await tokens.decode({ ...from, token: early })).toMatchObject({ nbf: now + 100 })
  })

  test("any token, with size 0", async () => {
    const tokens = createTokenModule({ cacheSize: 0 })
    const token = await encode(from)
    for (let count = 1; count <= 3; count++) {
      await tokens.decode({ ...from, token })
      expect(decrypted).toHaveBeenCalledTimes(count)
    }
  })
})

test("decoding gives the same results with and without a cache, in any order and at any time", async () => {
  const secrets = ["a", "b", "ab", "secret", "c"]
  const salts = ["", "a", "b", "salt"]
  const pool = await Promise.all(
    secrets.flatMap((secret) =>
      salts.flatMap((salt) => [
        encode({ secret, salt, token: { sub: secret + salt }, maxAge: 30 }),
        encode({ secret, salt, token: { nbf: now + 30 } }),
        byJose({ sub: secret + salt }, { secret, salt }, { kid: undefined }),
        byJose({ sub: secret + salt, exp: now + 30 }, { secret, salt, enc: "A256GCM" }),
      ]),
    ),
  )
  const few = fc.constantFrom(...[0, 1, 2, 3, 17, 35, 70].map((at) => pool[at] as string))
  const step = fc.record({
    token: fc.oneof(few, fc.constantFrom(...pool)),
    change: fc.constantFrom(undefined, undefined, undefined, " ", "=", "A", "."),
    secret: fc.oneof(
      fc.constantFrom(...secrets),
      fc.array(fc.constantFrom(...secrets, "", "x"), { minLength: 1, maxLength: 4 }),
    ),
    salt: fc.constantFrom(...salts),
    seconds: fc.integer({ min: -20, max: 60 }),
  })
  const outcome = (work: Promise<unknown>) =>
    work.then(
      (claims) => ({ claims }),
      (error: unknown) => ({ error }),
    )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), fc.nat(20), async (steps, cacheSize) => {
      const remembering = createTokenModule({ cacheSize })
      const plain = createTokenModule({ cacheSize: 0 })
      for (const { token, change = "", secret, salt, seconds } of steps) {
        freeze(now + seconds)
        const params = { token: token + change, secret, salt }
        expect(await outcome(remembering.decode(params))).toEqual(await outcome(plain.decode(params)))
      }
    }),
    { numRuns: 60 },
  )
})
