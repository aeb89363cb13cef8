import { afterEach, describe, expect, jest, test } from "@jest/globals"
import { failure } from "../test/failure.js"
import { contentKey } from "./content-key.js"
import { decode, encode } from "./index.js"

afterEach(() => {
  jest.restoreAllMocks()
})

describe("contentKey", () => {
  test("is derived and given to WebCrypto once, however often it is used", async () => {
    const imported = jest.spyOn(crypto.subtle, "importKey")
    const digested = jest.spyOn(crypto.subtle, "digest")
    const from = { secret: "used again and again", salt: "salt" }
    const tokens = await Promise.all(Array.from({ length: 20 }, () => encode(from)))
    for (const token of tokens) await decode({ ...from, token })
    const algorithms = imported.mock.calls.map(([, , algorithm]) => algorithm)
    expect(algorithms).toEqual([{ name: "HMAC", hash: "SHA-512" }, "AES-CBC"])
    expect(digested).toHaveBeenCalledTimes(1)
  })

  test("is another for another secret, salt or encryption", async () => {
    const keys = await Promise.all([
      contentKey("a", "b", "A256CBC-HS512"),
      contentKey("a", "c", "A256CBC-HS512"),
      contentKey("b", "b", "A256CBC-HS512"),
      contentKey("a", "b", "A256GCM"),
    ])
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(4)
  })

  test.each([undefined, null, 1, new Uint8Array(4)])("wants text for a salt, not %p", async (salt) => {
    expect(await failure(contentKey("a", salt as unknown as string, "A256GCM"))).toBeInstanceOf(TypeError)
  })
})
