import * as core from "@auth/core/jwt"
import { describe, expect, test } from "@jest/globals"
import { EncryptJWT } from "jose"
import { failure } from "../test/failure.js"
import { decode, encode, TokenError } from "./index.js"
import { derivedKey } from "./jwe/derived-key.js"

const from = { secret: "secret", salt: "salt" }

describe("decode", () => {
  test.each([undefined, "", null])("returns null without a token (%j), as @auth/core does", async (token) => {
    expect(await decode({ ...from, token: token as string })).toBeNull()
    expect(await core.decode({ ...from, token: token as string })).toBeNull()
    expect(await decode({ salt: "salt", secret: "", token: token as string })).toBeNull()
  })

  test.each([[""], [[]], [["", ""]], [undefined]])("rejects the secret %j", async (secret) => {
    const error = await failure(decode({ ...from, token: await encode(from), secret: secret as string }))
    expect(error).toMatchObject({ name: "MissingSecret", code: "MISSING_SECRET" })
  })

  test("skips an empty secret: an old one may no longer be set", async () => {
    const token = await encode(from)
    expect(await decode({ ...from, token, secret: ["", "secret", ""] })).not.toBeNull()
  })

  test.each<[string, object]>([
    ["a secret that is bytes", { secret: new Uint8Array(32) }],
    ["a salt that is bytes", { salt: new Uint8Array(32) }],
    ["no salt", { salt: undefined }],
    ["a salt of 990 bytes", { salt: "s".repeat(990) }],
  ])("throws TypeError for %s", async (_, params) => {
    expect(await failure(decode({ ...from, token: await encode(from), ...params }))).toBeInstanceOf(TypeError)
  })

  test.each([1, {}, []])("rejects the token %j", async (token) => {
    const error = await failure(decode({ ...from, token: token as unknown as string }))
    expect(error).toMatchObject({ name: "TokenMalformed", code: "TOKEN_MALFORMED", message: "this is not a token" })
  })
})

describe("rotation", () => {
  const salt = "salt"

  test("keeps sessions valid: [new, old] decodes tokens of the old secret, and new tokens use the new secret", async () => {
    const old = await encode({ secret: "old", salt, token: { sub: "1" } })
    expect(await decode({ token: old, secret: ["new", "old"], salt })).toMatchObject({ sub: "1" })
    const renewed = await encode({ secret: ["new", "old"], salt, token: { sub: "1" } })
    expect(await decode({ token: renewed, secret: "new", salt })).toMatchObject({ sub: "1" })
    expect(await failure(decode({ token: old, secret: "new", salt }))).toMatchObject({ code: "NO_MATCHING_SECRET" })
  })

  test("an expired token without kid is not tried with further secrets", async () => {
    const { key } = await derivedKey("one", "A256CBC-HS512", { salt })
    const header = { alg: "dir", enc: "A256CBC-HS512" }
    const token = await new EncryptJWT({}).setProtectedHeader(header).setExpirationTime(1).encrypt(key)
    expect(await failure(decode({ token, secret: ["one", "two"], salt }))).toMatchObject({ code: "TOKEN_EXPIRED" })
  })
})

test("every rejection is a TokenError without a cause", async () => {
  const error = await failure(decode({ ...from, token: "a.b.c.d.e" }))
  expect(error).toBeInstanceOf(TokenError)
  expect(error).toBeInstanceOf(Error)
  expect(error).not.toHaveProperty("cause")
  expect(JSON.parse(JSON.stringify(error))).toEqual({ name: "TokenMalformed", code: "TOKEN_MALFORMED" })
})
