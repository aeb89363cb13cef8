import { describe, expect, test } from "@jest/globals"
import type { ApiKey } from "../store/types.js"
import { hashSecret } from "./api-key.js"
import { Key } from "./key.js"

const stored = {
  id: "a",
  name: "the shop",
  tenant: "default",
  scopes: ["sessions:read"],
  secretHash: hashSecret("secret"),
  certificateName: "DNS:app.example.com",
  expires: new Date(1_000),
} satisfies Partial<ApiKey>
const key = new Key(stored)

describe("a key", () => {
  test("expires exactly at its time, and never without one", () => {
    expect(key.isExpired(999)).toBe(false)
    expect(key.isExpired(1_000)).toBe(true)
    expect(new Key({ ...stored, expires: undefined }).isExpired(Number.MAX_SAFE_INTEGER)).toBe(false)
  })

  test("has the scopes that it was given, and with `all` every scope but those of private properties, of new keys and of the session policy", () => {
    expect(key.hasScope("sessions:read")).toBe(true)
    expect(key.hasScope("sessions:write")).toBe(false)
    expect(key.hasScope("all")).toBe(false)
    expect(new Key({ ...stored, scopes: ["all"] }).hasScope("sessions:write")).toBe(true)
    for (const scope of [
      "users:private",
      "keys:write",
      "session-policy:write",
      "tenants:read",
      "tenants:write",
      "webhooks:write",
    ]) {
      expect(new Key({ ...stored, scopes: ["all"] }).hasScope(scope)).toBe(false)
      expect(new Key({ ...stored, scopes: ["all", scope] }).hasScope(scope)).toBe(true)
    }
  })

  test("accepts its secret; without a secret, or without a key, none is accepted", () => {
    expect(Key.opens(key, "secret")).toBe(true)
    expect(Key.opens(key, "secret ")).toBe(false)
    expect(Key.opens(undefined, "secret")).toBe(false)
    expect(Key.opens(new Key({ ...stored, secretHash: undefined }), "")).toBe(false)
  })

  test("admits callers that it admitted before it was read again, whatever else has changed", () => {
    expect(key.admitsSameCaller(key)).toBe(true)
    expect(new Key({ ...stored, scopes: ["all"], expires: undefined }).admitsSameCaller(key)).toBe(true)
  })

  test.each([
    ["another id", { id: "b" }],
    ["another secret", { secretHash: hashSecret("other") }],
    ["another certificate", { certificateName: "DNS:other.example.com" }],
    ["no certificate", { certificateName: undefined }],
  ])("rejects callers that were admitted by a key with %s", (_, changed) => {
    const other = new Key({ ...stored, ...changed })
    expect(key.admitsSameCaller(other)).toBe(false)
    expect(other.admitsSameCaller(key)).toBe(false)
  })
})
