import * as core from "@auth/core/jwt"
import { describe, expect, test } from "@jest/globals"
import { decodeProtectedHeader } from "jose"
import { failure } from "../test/failure.js"
import { createTokenModule, decode, encode } from "./index.js"

const from = { secret: "secret", salt: "salt" }

describe("encode", () => {
  test("makes a compact JWE with the header of @auth/core", async () => {
    const token = await encode(from)
    expect(token).toMatch(/^[\w-]+\.\.[\w-]{22}\.[\w-]+\.[\w-]{43}$/)
    expect(decodeProtectedHeader(token)).toEqual(decodeProtectedHeader(await core.encode(from)))
    expect(decodeProtectedHeader(token)).toEqual({
      alg: "dir",
      enc: "A256CBC-HS512",
      kid: expect.stringMatching(/^[\w-]{86}$/),
    })
  })

  test("replaces iat, exp and jti of the claims", async () => {
    const token = await encode({ ...from, token: { iat: 1, exp: 2, jti: "mine" }, maxAge: 60 })
    const { iat = 0, exp, jti } = (await core.decode({ ...from, token })) ?? {}
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60)
    expect(exp).toBe(iat + 60)
    expect(jti).not.toBe("mine")
  })

  test("takes the time of a module with a clock, and so does its decode", async () => {
    let now = Date.now() + 3_600_000
    const own = createTokenModule({ now: () => now })
    const token = await own.encode({ ...from, maxAge: 60 })
    expect(await own.decode({ ...from, token })).toMatchObject({ iat: Math.floor(now / 1000) })
    expect(await decode({ ...from, token })).not.toBeNull()
    now += 75_000
    await expect(own.decode({ ...from, token })).rejects.toMatchObject({ code: "TOKEN_EXPIRED" })
    expect(await decode({ ...from, token })).not.toBeNull()
  })

  test("does not change the claims that it is given", async () => {
    const claims = Object.freeze({ sub: "1" })
    await encode({ ...from, token: claims })
    expect(claims).toEqual({ sub: "1" })
  })

  test("converts claims as JSON.stringify does", async () => {
    const token = await encode({ ...from, token: { at: new Date(0), not: undefined, call() {} } })
    expect(await core.decode({ ...from, token })).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
    })
  })

  test.each([[""], [[]], [["", "old"]], [undefined], [[undefined, "old"]]])("rejects the secret %j", async (secret) => {
    const error = await failure(encode({ ...from, secret: secret as string }))
    expect(error).toMatchObject({ name: "MissingSecret", code: "MISSING_SECRET" })
  })

  test.each<[string, object]>([
    ["claims that are null", { token: null }],
    ["claims that are a list", { token: [] }],
    ["claims that are text", { token: "claims" }],
    ["claims that hold a bigint", { token: { n: 1n } }],
    ["a maxAge that is no number", { maxAge: Number.NaN }],
    ["a maxAge without end", { maxAge: Number.POSITIVE_INFINITY }],
    ["a maxAge that is text", { maxAge: "60" }],
    ["a secret that is a number", { secret: 1 }],
    ["a secret that is bytes", { secret: [new Uint8Array(32)] }],
    ["no salt", { salt: undefined }],
    ["a salt that is bytes", { salt: new Uint8Array(32) }],
    ["a salt of 990 bytes", { salt: "s".repeat(990) }],
  ])("throws TypeError for %s", async (_, params) => {
    expect(await failure(encode({ ...from, ...params }))).toBeInstanceOf(TypeError)
  })

  test("accepts a salt of 989 bytes, the maximum that fits into the info of HKDF", async () => {
    const salt = "s".repeat(989)
    expect(await core.decode({ token: await encode({ ...from, salt }), secret: "secret", salt })).not.toBeNull()
  })
})
