import { describe, expect, test } from "@jest/globals"
import { sessionToken, userId, uuid, verificationToken } from "./keys.ts"

describe("keys of the data", () => {
  test("look like those of Auth.js, and are always the same", () => {
    expect(uuid("user 0")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    expect(userId(7)).toBe(uuid("user 7"))
    expect(verificationToken("b", 1)).toEqual(verificationToken("b", 1))
  })

  test("differ", () => {
    const tokens = new Set(Array.from({ length: 10_000 }, (_, session) => sessionToken(session)))
    expect(tokens.size).toBe(10_000)
    expect(verificationToken("b", 1).token).not.toBe(verificationToken("c", 1).token)
  })
})
