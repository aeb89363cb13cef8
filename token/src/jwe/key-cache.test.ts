import { describe, expect, jest, test } from "@jest/globals"
import { freeze } from "../../test/clock.js"
import { keyCache } from "./key-cache.js"

/** Creates a derivation that records its calls. */
function counting() {
  const calls: string[] = []
  const derive = async (secret: string, salt: string, enc: string) => {
    calls.push(JSON.stringify([secret, salt, enc]))
    return { secret, salt, enc }
  }
  return { calls, derive }
}

describe("keyCache", () => {
  test("derives a key once", async () => {
    const { calls, derive } = counting()
    const key = keyCache(derive)
    expect(await key("secret", "salt", "A")).toBe(await key("secret", "salt", "A"))
    expect(calls).toHaveLength(1)
  })

  test("distinguishes secrets, salts and encryptions, even if their concatenations are equal", async () => {
    const { derive } = counting()
    const key = keyCache(derive)
    const parts = ["", "a", "b", "ab", "ba", "1", ":", "1:", "1:a", "2:ab", "a1:b", "\0", "\u0000a", "é", "e\u0301"]
    const names = parts.flatMap((secret) =>
      parts.flatMap((salt) => ["A256GCM", "A256CBC-HS512"].map((enc) => [secret, salt, enc] as const)),
    )
    const large = keyCache(derive, { maxEntries: names.length })
    for (const cache of [key, large, large]) {
      for (const [secret, salt, enc] of names) expect(await cache(secret, salt, enc)).toEqual({ secret, salt, enc })
    }
  })

  test("concurrent callers share one derivation", async () => {
    const { calls, derive } = counting()
    const key = keyCache(derive)
    const keys = await Promise.all(Array.from({ length: 50 }, () => key("secret", "salt", "A")))
    expect(new Set(keys).size).toBe(1)
    expect(calls).toHaveLength(1)
  })

  test("does not cache a failure, which all waiting callers receive", async () => {
    let fails = true
    const key = keyCache(async () => {
      if (fails) throw new Error("no")
      return "key"
    })
    const results = await Promise.allSettled([key("secret", "salt", "A"), key("secret", "salt", "A")])
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"])
    fails = false
    expect(await key("secret", "salt", "A")).toBe("key")
  })

  test("a late failure does not remove a key that was derived since", async () => {
    const failures: (() => void)[] = []
    let calls = 0
    const key = keyCache(
      (secret) => {
        if (secret !== "a") return Promise.resolve(secret)
        calls++
        return calls === 1
          ? new Promise<string>((_, reject) => failures.push(() => reject(new Error("no"))))
          : Promise.resolve("a")
      },
      { maxEntries: 1 },
    )
    const first = key("a", "salt", "A")
    await key("b", "salt", "A")
    await key("a", "salt", "A")
    failures[0]?.()
    await expect(first).rejects.toThrow("no")
    await key("a", "salt", "A")
    expect(calls).toBe(2)
  })

  test("holds 32 keys, and removes keys that were not used for an hour", async () => {
    const { calls, derive } = counting()
    const key = keyCache(derive)
    freeze(0)
    for (let n = 0; n < 32; n++) await key(`${n}`, "salt", "A")
    await key("0", "salt", "A")
    await key("32", "salt", "A")
    freeze(3_600)
    calls.length = 0
    for (const name of ["0", "2", "1"]) await key(name, "salt", "A")
    expect(calls).toEqual(['["1","salt","A"]'])
    freeze(3_600.001)
    for (const name of ["0", "3"]) await key(name, "salt", "A")
    expect(calls).toEqual(['["1","salt","A"]', '["3","salt","A"]'])
    jest.useRealTimers()
  })
})
