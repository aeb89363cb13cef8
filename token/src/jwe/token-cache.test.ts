import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, jest, test } from "@jest/globals"
import { freeze } from "../../test/clock.js"
import { type CachedToken, tokenCache } from "./token-cache.js"

const enc = "A256CBC-HS512"
const kid = "k".repeat(86)
const remembered = (content: string): CachedToken => ({ enc, kid, content })
/** Creates a string that is not a concatenation, like the string after decryption. */
const decoded = (content: string) => new TextDecoder().decode(new TextEncoder().encode(content))

/** Creates a text in the form of a token, with the given length, that is unique for its number. */
const tokenOf = (serial: number, length = 600) => `AAAA..AAAA.${`${serial}`.padStart(length - 16, "A")}.AAAA`

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Returns the growth of the memory in use, in bytes. The result of the work counts as in use. */
function growth(work: () => unknown): number {
  collect()
  collect()
  const before = process.memoryUsage()
  const kept = work()
  collect()
  collect()
  const after = process.memoryUsage()
  expect(kept).toBeDefined()
  return after.heapUsed - before.heapUsed + after.external - before.external
}

describe("tokenCache", () => {
  test("caches 1,000 tokens by default, and evicts the least recently used one", () => {
    const cache = tokenCache()
    for (let serial = 0; serial < 1000; serial++) cache.set(tokenOf(serial), remembered("{}"))
    cache.use(tokenOf(0))
    cache.peek(tokenOf(1))
    cache.set(tokenOf(1000), remembered("{}"))
    expect(cache.count).toBe(1000)
    expect(cache.peek(tokenOf(0))).toEqual(remembered("{}"))
    expect(cache.peek(tokenOf(1))).toBeUndefined()
    expect(cache.peek(tokenOf(1000))).toEqual(remembered("{}"))
  })

  test("needs at most 4 KiB times its size, however large the tokens are", () => {
    const cache = tokenCache(100)
    for (let serial = 0; serial < 200; serial++) {
      cache.set(tokenOf(serial, 40_000), remembered("é".repeat(30_000)))
      expect(cache.bytes).toBeLessThanOrEqual(100 * 4096)
    }
    expect(cache.count).toBe(Math.floor((100 * 4096) / (40_000 + 60_000 + 384)))
    cache.set(tokenOf(1000, 100 * 4096), remembered("{}"))
    expect(cache.peek(tokenOf(1000, 100 * 4096))).toBeUndefined()
    expect(cache.count).toBe(4)
  })

  test("removes a token that was not used for an hour", () => {
    const cache = tokenCache(10)
    freeze(0)
    cache.set(tokenOf(1), remembered("{}"))
    freeze(3_600)
    expect(cache.peek(tokenOf(1))).toBeDefined()
    freeze(3_600.001)
    expect(cache.peek(tokenOf(1))).toBeUndefined()
    expect([cache.count, cache.bytes]).toEqual([0, 0])
    jest.useRealTimers()
  })

  test("caches nothing with size 0", () => {
    const cache = tokenCache(0)
    cache.set(tokenOf(1), remembered("{}"))
    expect([cache.peek(tokenOf(1)), cache.count, cache.bytes]).toEqual([undefined, 0, 0])
  })

  test("caches a token only in its canonical form", () => {
    const cache = tokenCache()
    for (const token of ["AA..AA.AA.AB", "AA..AA.AA.AA=", "AA..AA.A A.AA", "AA..AA.AA.AA\n"]) {
      cache.set(token, remembered("{}"))
    }
    expect(cache.count).toBe(0)
    cache.set("AA..AA.AA.AA", remembered("{}"))
    expect(cache.count).toBe(1)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "10", null])("requires a whole number, not %p", (size) => {
    expect(() => tokenCache(size as number)).toThrow(TypeError)
  })

  test("does not need more memory than it counts", () => {
    const cache = tokenCache(10_000)
    const bytes = growth(() => {
      for (let serial = 0; serial < 10_000; serial++)
        cache.set(tokenOf(serial), remembered(decoded(`${serial}€`.padEnd(300))))
      return cache
    })
    expect(cache.count).toBe(10_000)
    expect(bytes).toBeLessThan(cache.bytes)
    expect(bytes).toBeGreaterThan(0.5 * cache.bytes)
  })

  test("does not retain the message that a token was cut from", () => {
    const cache = tokenCache()
    const bytes = growth(() => {
      for (let serial = 0; serial < 100; serial++) {
        const message = `${"x".repeat(1_000_000)}${tokenOf(serial)}${serial}`
        cache.set(message.slice(1_000_000, 1_000_600), remembered("{}"))
      }
      // A use must not replace the stored text by that of the caller.
      for (let serial = 0; serial < 100; serial++) {
        const message = `${"y".repeat(1_000_000)}${tokenOf(serial)}${serial}`
        cache.use(message.slice(1_000_000, 1_000_600))
      }
      return cache
    })
    expect(cache.count).toBe(100)
    expect(bytes).toBeLessThan(10_000_000)
  })
})
