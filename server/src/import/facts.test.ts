import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { digestOf } from "./digest.js"
import { Facts, type PageFacts } from "./facts.js"

const none = new BigInt64Array(0)
const limits = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]
const digests = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => digestOf(`${prefix}${n}`))

let facts: Facts
beforeEach(() => {
  facts = new Facts()
})
afterEach(() => facts.close())

test("a set knows the keys that were added, and those that were added more than once", () => {
  const added = [...digests(5_000, "added"), ...limits]
  const repeated = [...added.slice(100, 103), ...limits]
  const set = facts.addresses
  for (let start = 0; start < added.length; start += 60) set.add(BigInt64Array.from(added.slice(start, start + 60)))
  set.add(BigInt64Array.from(repeated))
  expect(added.filter((digest) => !set.has(digest))).toEqual([])
  expect([...digests(1_000, "other"), 2n].filter((digest) => set.has(digest))).toEqual([])
  expect(set.repeated()).toEqual(new Set(repeated))
  expect(facts.owners.has(0n)).toBe(false)
  expect(facts.owners.repeated().size).toBe(0)
})

test("the facts of a page are read back, and the owners of sessions are not those who can sign in", () => {
  const page: PageFacts = {
    keys: BigInt64Array.from(limits),
    addresses: none,
    foldedIds: none,
    owners: BigInt64Array.of(5n),
  }
  facts.add("sessions", page)
  const stored = [facts.store(page), facts.store({ ...page, keys: none })]
  expect(stored.map(({ rows }) => rows)).toEqual([5, 0])
  expect(stored.map((one) => one.read())).toEqual([page, { ...page, keys: none }])
  expect(facts.keys.sessions.has(-1n)).toBe(true)
  expect(facts.keys.accounts.has(-1n)).toBe(false)
  expect(facts.owners.has(5n)).toBe(false)
})
