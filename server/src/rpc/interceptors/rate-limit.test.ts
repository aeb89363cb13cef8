import { SessionService, TokenService, UserService } from "@authwire/proto"
import { Health } from "@authwire/proto/health"
import type { DescMethod } from "@bufbuild/protobuf"
import { describe, expect, test } from "@jest/globals"
import type { Call } from "../call.js"
import { buckets, rateLimit } from "./rate-limit.js"

/** Empties a bucket. @returns the number of tokens, and the wait for the next one. */
function drain(take: () => number): [count: number, waitMs: number] {
  for (let count = 0; ; count++) {
    const waitMs = take()
    if (waitMs > 0) return [count, waitMs]
  }
}

describe("a bucket", () => {
  test("holds the calls of one second, and says exactly when the next call is allowed", () => {
    let now = 12_345.678
    const take = buckets(50, () => now)
    const [count, waitMs] = drain(() => take("k"))
    expect(count).toBe(50)
    expect(waitMs).toBeCloseTo(20)
    now += 19
    expect(take("k")).toBeCloseTo(1)
    now += 1
    expect(take("k")).toBe(0)
    expect(take("k")).toBeCloseTo(20)
  })

  test("is full again after a second, and not fuller after a day", () => {
    let now = 0
    const take = buckets(7, () => now)
    for (const pauseMs of [1_000, 86_400_000]) {
      drain(() => take("k"))
      now += pauseMs
      expect(drain(() => take("k"))[0]).toBe(7)
    }
  })

  test("S-43: of one key is separate from that of another", () => {
    const take = buckets(5, () => 0)
    expect(drain(() => take("a"))[0]).toBe(5)
    expect(drain(() => take("b"))[0]).toBe(5)
    expect(take("a")).toBeGreaterThan(0)
  })

  test("of the oldest key is evicted when there are more than ten thousand", () => {
    const take = buckets(1, () => 0)
    for (let key = 0; key < 10_000; key++) take(`k${key}`)
    expect(take("k0")).toBeGreaterThan(0)
    take("one more")
    expect(take("k9999")).toBeGreaterThan(0)
    expect(take("k0")).toBe(0)
  })
})

describe("rateLimit", () => {
  const { encode, decode } = TokenService.method
  const limits = rateLimit({
    perSecond: 3,
    overrides: { "TokenService.Encode": 1, "TokenService.Decode": 0 },
    now: () => 0,
  })
  const callOf = (keyId: string | undefined) =>
    ({ identity: { keyId, tenant: "default", hasScope: () => true } }) as unknown as Call
  const made = (method: DescMethod, keyId: string | undefined) => {
    const admit = limits.admit?.(method)
    for (let count = 0; count < 100; count++) {
      try {
        expect(admit?.(callOf(keyId))).toBeUndefined()
      } catch (error) {
        expect(error).toMatchObject({ reason: "RATE_LIMITED" })
        return count
      }
    }
    return "any"
  }

  test("a method has its own rate, or the default", () => {
    expect(made(SessionService.method.getSessionAndUser, "k")).toBe(3)
    expect(made(encode, "k")).toBe(1)
    expect(made(decode, "k")).toBe("any")
  })

  test("methods that answer the same question have one limit together, unless one is given its own", () => {
    const { getUserByEmail, listUsers, countUsers, getUser } = UserService.method
    const perSecond = { perSecond: 7, now: () => 0 }
    const admitted = (overrides: Record<string, number>) => {
      const { admit } = rateLimit({ ...perSecond, overrides })
      return [getUserByEmail, listUsers, countUsers, getUser].map((method) => {
        const take = admit?.(method)
        for (let count = 0; ; count++) {
          try {
            take?.(callOf("k"))
          } catch {
            return count
          }
        }
      })
    }
    expect(admitted({})).toEqual([7, 0, 0, 7])
    expect(admitted({ "UserService.GetUserByEmail": 3 })).toEqual([3, 0, 0, 7])
    expect(admitted({ "UserService.GetUserByEmail": 3, "UserService.ListUsers": 5 })).toEqual([3, 5, 0, 7])
  })

  test("callers without a key are not limited, nor is health", () => {
    expect(made(encode, undefined)).toBe("any")
    expect(limits.admit?.(Health.method.check)).toBeUndefined()
  })
})
