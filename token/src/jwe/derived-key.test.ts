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
    expect(await derivedKey(from.secret, from.salt, "A256CBC-HS512")).toBe(
      await derivedKey(from.secret, from.salt, "A256CBC-HS512"),
    )
  })

  test("differs for another secret, salt or encryption", async () => {
    const keys = await Promise.all([
      derivedKey("a", "b", "A256CBC-HS512"),
      derivedKey("a", "c", "A256CBC-HS512"),
      derivedKey("b", "b", "A256CBC-HS512"),
      derivedKey("a", "b", "A256GCM"),
    ])
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(4)
  })

  test.each([undefined, null, 1, new Uint8Array(4)])("requires a string as salt, not %p", async (salt) => {
    expect(await failure(derivedKey("a", salt as unknown as string, "A256GCM"))).toBeInstanceOf(TypeError)
  })
})
