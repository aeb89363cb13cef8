import { expect, jest, test } from "@jest/globals"
import fc from "fast-check"
import { lru } from "./lru.js"

test("lru behaves like a list in the order of use, for any order of calls", () => {
  jest.useFakeTimers()
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
      jest.setSystemTime(time)
      let serial = 0
      const cache = lru<number>(bounds)
      let list: { key: string; value: number; size: number; usedAt: number }[] = []
      const find = (key: string) => list.find((entry) => entry.key === key)
      const without = (key: string) => list.filter((entry) => entry.key !== key)
      for (const each of calls) {
        if (each.call === "wait") {
          time += each.ms
          jest.setSystemTime(time)
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
  jest.useRealTimers()
})
