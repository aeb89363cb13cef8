import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { failure } from "../test/failure.js"
import { base64url, forge } from "../test/forge.js"
import { a256gcm } from "./a256gcm.js"
import { parseJwe } from "./jwe.js"

const header = base64url(JSON.stringify({ alg: "dir", enc: "A256GCM" }))
const key = new Uint8Array(32).fill(7)
const made = () => parseJwe(forge({ key, enc: "A256GCM", header, content: "content" }))

describe("A256GCM", () => {
  test("decrypts what Node encrypts", async () => {
    const octets = (limits: fc.IntArrayConstraints) => fc.uint8Array(limits).map((array) => new Uint8Array(array))
    await fc.assert(
      fc.asyncProperty(octets({ minLength: 32, maxLength: 32 }), octets({}), async (key, content) => {
        const encrypted = parseJwe(forge({ key, enc: "A256GCM", header, content }))
        expect(await (await a256gcm(key)).decrypt(encrypted)).toEqual(content)
      }),
    )
  })

  test.each(["aad", "iv", "ciphertext", "tag"] as const)("%s changed in any octet: no answer", async (name) => {
    const cipher = await a256gcm(key)
    const encrypted = made()
    for (let at = 0; at < encrypted[name].length; at++) {
      const changed = encrypted[name].map((octet, index) => (index === at ? octet ^ 1 : octet))
      expect(await cipher.decrypt({ ...encrypted, [name]: changed })).toBeUndefined()
    }
  })

  test.each([
    ["iv", 12],
    ["tag", 16],
  ] as const)("of any length but its own, %s is malformed", async (name, right) => {
    const cipher = await a256gcm(key)
    const encrypted = made()
    for (let size = 0; size <= 33; size++) {
      const cut = new Uint8Array([...encrypted[name], ...new Uint8Array(33)]).slice(0, size)
      const error = await failure(cipher.decrypt({ ...encrypted, [name]: cut }))
      if (size === right) expect(error).toBeUndefined()
      else expect(error).toMatchObject({ code: "TOKEN_MALFORMED" })
    }
  })
})
