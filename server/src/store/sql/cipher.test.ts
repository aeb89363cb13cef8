import { randomBytes } from "node:crypto"
import { describe, expect, test } from "@jest/globals"
import { createCipher, keyFromSecret } from "./cipher.js"

const [one, two] = [randomBytes(32), randomBytes(32)]
const cipher = createCipher([one])
const context = ["default", "github", "1", "u", "access_token"]

describe("createCipher", () => {
  test.each(["", "gho_token", "sealed.1.AAAAAAAA.AAAA", "sealed", "Zoë 🙂 \u0000", "x".repeat(65_536)])(
    "opens what it sealed (%#)",
    (value) => {
      const sealed = cipher.seal(value, context)
      expect(sealed).toMatch(/^sealed\.1\.[\w-]{8}\.[\w-]+$/)
      expect(cipher.open(sealed, context)).toBe(value)
    },
  )

  test("S-12: opens what was sealed with a secret only with that secret", () => {
    const sealed = cipher.seal("t", context, "secret")
    expect(cipher.open(sealed, context, "secret")).toBe("t")
    for (const other of [undefined, "", "secrets", "Secret"]) {
      expect(() => cipher.open(sealed, context, other)).toThrow("cannot be decrypted")
    }
    expect(() => cipher.open(cipher.seal("t", context), context, "secret")).toThrow("cannot be decrypted")
  })

  test("seals the same value differently each time", () => {
    expect(new Set(Array.from({ length: 100 }, () => cipher.seal("t", context))).size).toBe(100)
  })

  test("opens nothing whose beginning was changed or cut, and nothing that was never sealed", () => {
    const sealed = cipher.seal("t", context)
    const altered = ["sealed.2.", "sealed.", "Sealed.1.", " sealed.1.", "sealed.1.x", ""].map(
      (start) => start + sealed.slice("sealed.1.".length),
    )
    for (const value of [...altered, "sealed.1", "sealed", "seal", "", "gho_token", `gho_token ${sealed}`]) {
      expect(() => cipher.open(value, context)).toThrow(expect.objectContaining({ reason: "ENCRYPTION_KEY_MISSING" }))
    }
  })

  test("opens nothing in another context, whichever part differs, even if the joined parts are equal", () => {
    const sealed = cipher.seal("t", context)
    const others = context.map((_, index) => context.map((part, at) => (at === index ? `${part}x` : part)))
    for (const other of [...others, ["default", "github1", "", "u", "access_token"], context.slice(1), []]) {
      expect(() => cipher.open(sealed, other)).toThrow(expect.objectContaining({ reason: "ENCRYPTION_KEY_MISSING" }))
    }
  })

  test("S-13: opens no value with a changed bit or a missing end", () => {
    const sealed = cipher.seal("token", context)
    const [head, text] = [sealed.slice(0, sealed.lastIndexOf(".") + 1), sealed.slice(sealed.lastIndexOf(".") + 1)]
    const bytes = Buffer.from(text, "base64url")
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      expect(() => cipher.open(head + changed.toString("base64url"), context)).toThrow("cannot be decrypted")
    }
    for (let length = 0; length < bytes.length; length++) {
      const cut = head + bytes.subarray(0, length).toString("base64url")
      expect(() => cipher.open(cut, context)).toThrow("cannot be decrypted")
    }
    expect(() => cipher.open(head.slice(0, -1), context)).toThrow("cannot be decrypted")
  })

  test("with several keys the first one seals, and all of them open", () => {
    const rotated = createCipher([two, one])
    const old = cipher.seal("t", context)
    expect(rotated.open(old, context)).toBe("t")
    expect(rotated.isCurrent(old)).toBe(false)
    const fresh = rotated.seal("t", context)
    expect(rotated.isCurrent(fresh)).toBe(true)
    expect(() => cipher.open(fresh, context)).toThrow("cannot be decrypted")
    expect(rotated.isCurrent("plain")).toBe(false)
  })

  test("an error contains neither the value nor the key", () => {
    const sealed = createCipher([two]).seal("secret-value", context)
    let thrown: unknown
    try {
      cipher.open(sealed, context)
    } catch (error) {
      thrown = error
    }
    const text = `${(thrown as Error).message} ${(thrown as Error).cause}`
    expect(text).not.toContain(sealed.slice(-20))
    expect(text).not.toContain("secret-value")
  })

  test.each([[[]], [[Buffer.alloc(31)]], [[Buffer.alloc(32), Buffer.alloc(33)]]])(
    "S-3: rejects keys of another length (%#)",
    (keys) => {
      expect(() => createCipher(keys)).toThrow("32 bytes")
    },
  )
})

test("keyFromSecret always derives the same key from a secret, and the key is not the secret", () => {
  const secret = "a secret of thirty-two bytes, at least"
  expect(keyFromSecret(secret)).toEqual(keyFromSecret(secret))
  expect(keyFromSecret(secret)).not.toEqual(keyFromSecret(`${secret}.`))
  expect(keyFromSecret(secret)).toHaveLength(32)
})
