import { describe, expect, test } from "@jest/globals"
import { KeySet } from "./key-set.js"

const largest = 2n ** 64n - 1n

/** Yields the same pseudo-random numbers every time, spread over all 64 bits. */
function* digests(count: number, seed = 1n): Generator<bigint> {
  for (let state = seed, n = 0; n < count; n++) {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
    yield state
  }
}

describe("KeySet", () => {
  test.each([
    ["in memory", 2 ** 18],
    ["in files, of many runs", 100],
    ["in files, and one more than a run", 4999],
  ])("knows what was added, and what more than once, %s", (_, maxInMemory) => {
    const added = [...digests(4990), 0n, 1n, largest, largest - 1n, 2n ** 56n, 2n ** 56n - 1n]
    const repeated = [...added.slice(100, 103), largest]
    const set = new KeySet(maxInMemory)
    for (let start = 0; start < added.length; start += 60) set.add(BigUint64Array.from(added.slice(start, start + 60)))
    set.add(BigUint64Array.from(repeated))
    try {
      for (const digest of added) expect(set.has(digest)).toBe(true)
      for (const digest of [...digests(1000, 2n), 2n, largest - 2n]) expect(set.has(digest)).toBe(false)
      expect([...set.repeated()].sort()).toEqual(repeated.sort())
    } finally {
      set.close()
    }
  })

  test.each([0, 511, 512, 513, 1024, 1025])("of %d keys, more than stand in memory", (count) => {
    const set = new KeySet(10)
    for (const digest of digests(count)) set.add(BigUint64Array.of(digest))
    try {
      expect([...digests(count)].filter((digest) => !set.has(digest))).toEqual([])
      expect([...digests(count, 2n)].filter((digest) => set.has(digest))).toEqual([])
      expect(set.repeated().size).toBe(0)
    } finally {
      set.close()
    }
  })
})
