import { describe, expect, test } from "@jest/globals"
import fc from "fast-check"
import { lru } from "./lru.js"

const forever = { maxIdleMs: Number.POSITIVE_INFINITY }

describe("lru", () => {
  test("evicts the least recently used value; peek does not count as a use", () => {
    const cache = lru<number>({ maxEntries: 3, ...forever })
    for (const key of ["a", "b", "c"]) cache.set(key, key.charCodeAt(0))
    cache.get("a")
    cache.peek("b")
    cache.set("d", 1)
    expect(["a", "b", "c", "d"].filter((key) => cache.peek(key) !== undefined)).toEqual(["a", "c", "d"])
    cache.set("e", 1)
    expect(["a", "c", "d", "e"].filter((key) => cache.peek(key) !== undefined)).toEqual(["a", "d", "e"])
  })

  test("removes expired values at the next call", () => {
    let time = 0
    const cache = lru<string>({ maxEntries: 10, maxIdleMs: 100, now: () => time })
    cache.set("idle", "1")
    cache.set("busy", "2")
    time = 100
    expect(cache.get("busy")).toBe("2")
    expect(cache.count).toBe(2)
    time = 101
    expect(cache.peek("other")).toBeUndefined()
    expect(cache.count).toBe(1)
    time = 200
    expect(cache.peek("busy")).toBe("2")
    time = 201
    expect(cache.get("busy")).toBeUndefined()
  })

  test("does not store a value larger than maxSize, and removes the old value of its key", () => {
    const cache = lru<string>({ maxEntries: 10, maxSize: 10, ...forever })
    cache.set("a", "small", 10)
    cache.set("a", "large", 11)
    expect([cache.peek("a"), cache.count, cache.size]).toEqual([undefined, 0, 0])
  })

  test("delete removes only the given value", () => {
    const cache = lru<object>({ maxEntries: 10, ...forever })
    const [one, other] = [{}, {}]
    cache.set("a", one)
    cache.delete("a", other)
    expect(cache.peek("a")).toBe(one)
    cache.delete("a", one)
    expect(cache.peek("a")).toBeUndefined()
    cache.delete("a", one)
    expect(cache.count).toBe(0)
  })

  test("behaves like a list in the order of use, for any order of calls", () => {
    const key = fc.constantFrom("a", "b", "c", "d", "e", "f")
    const call = fc.oneof(
      fc.record({ call: fc.constant("set" as const), key, size: fc.nat(6) }),
      fc.record({ call: fc.constantFrom("get" as const, "peek" as const, "delete" as const), key }),
      fc.record({ call: fc.constant("wait" as const), ms: fc.nat(6) }),
    )
    const bounds = fc.record({ maxEntries: fc.nat(4), maxSize: fc.nat(12), maxIdleMs: fc.nat(10) })
    fc.assert(
      fc.property(bounds, fc.array(call, { maxLength: 40 }), (bounds, calls) => {
        let time = 0
        let serial = 0
        const cache = lru<number>({ ...bounds, now: () => time })
        let list: { key: string; value: number; size: number; usedAt: number }[] = []
        const find = (key: string) => list.find((entry) => entry.key === key)
        const without = (key: string) => list.filter((entry) => entry.key !== key)
        for (const each of calls) {
          if (each.call === "wait") {
            time += each.ms
            continue
          }
          const { key } = each
          if (each.call !== "delete") list = list.filter(({ usedAt }) => time - usedAt <= bounds.maxIdleMs)
          const known = find(key)
          if (each.call === "set") {
            cache.set(key, ++serial, each.size)
            list = without(key)
            if (bounds.maxEntries > 0 && each.size <= bounds.maxSize) {
              list.push({ key, value: serial, size: each.size, usedAt: time })
            }
            const sum = () => list.reduce((total, { size }) => total + size, 0)
            while (list.length > bounds.maxEntries || sum() > bounds.maxSize) list.shift()
          } else if (each.call === "delete") {
            cache.delete(key, known?.value ?? -1)
            list = without(key)
          } else {
            expect(cache[each.call](key)).toBe(known?.value)
            if (each.call === "get" && known !== undefined) list = [...without(key), { ...known, usedAt: time }]
          }
          expect(cache.count).toBe(list.length)
          expect(cache.size).toBe(list.reduce((total, { size }) => total + size, 0))
        }
      }),
      { numRuns: 2000 },
    )
  })
})
