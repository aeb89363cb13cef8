import { afterEach, describe, expect, jest, test } from "@jest/globals"
import { failure } from "../../test/failure.js"
import { decode, encode } from "../index.js"
import { derivedKey } from "./derived-key.js"

afterEach(() => {
  jest.restoreAllMocks()
})

describe("derivedKey", () => {
  test("is derived once with its thumbprint, even if it is used repeatedly", async () => {
    const digested = jest.spyOn(crypto.subtle, "digest")
    const from = { secret: "used again and again", salt: "salt" }
    const tokens = await Promise.all(Array.from({ length: 20 }, () => encode(from)))
    for (const token of tokens) await decode({ ...from, token })
    expect(digested).toHaveBeenCalledTimes(1)
    expect(await derivedKey(from.secret, "A256CBC-HS512", from)).toBe(
      await derivedKey(from.secret, "A256CBC-HS512", from),
    )
  })

  test("differs for another secret, salt or encryption", async () => {
    const keys = await Promise.all([
      derivedKey("a", "A256CBC-HS512", { salt: "b" }),
      derivedKey("a", "A256CBC-HS512", { salt: "c" }),
      derivedKey("b", "A256CBC-HS512", { salt: "b" }),
      derivedKey("a", "A256GCM", { salt: "b" }),
    ])
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(4)
  })

  test.each([undefined, null, 1, new Uint8Array(4)])("requires a string as salt, not %p", async (salt) => {
    expect(await failure(derivedKey("a", "A256GCM", { salt: salt as unknown as string }))).toBeInstanceOf(TypeError)
  })
})
