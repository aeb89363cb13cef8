import { hash } from "node:crypto"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, test } from "@jest/globals"
import type { BulkName, BulkRows } from "../store/sql/index.js"
import { check } from "./check.js"
import { type ImportSource, type Item, keyDigest, type Page } from "./item.js"

const users = 500_000
const pageSize = 1000

/** An origin that creates its users when their page is read. */
const origin: ImportSource = {
  notes: [],
  count: async (name) => (name === "users" ? users : 0),
  async *pages<N extends BulkName>(name: N) {
    for (let start = 0; name === "users" && start < users; start += pageSize) {
      const digest = hash("sha256", String(start))
      const items = () => Array.from({ length: pageSize }, (_, n) => user(start + n) as Item<BulkRows[N]>)
      yield { length: pageSize, digest, items } satisfies Page<BulkRows[N]>
    }
  },
  close: async () => {},
}

function user(n: number): Item<BulkRows["users"]> {
  const email = `${n}@example.com`
  const row = { tenant: "default", id: `user-${n}`, email, emailKey: email, extra: {} }
  return { row, key: keyDigest.users(row), label: "", faults: [], conversions: [] }
}

/** Returns the memory that is in use after garbage collection, in MiB. */
function live(): number {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 2 ** 20
}

test("what is known of many users does not stand in memory", async () => {
  const before = live()
  const checked = await check(origin, { onFinding: () => {} })
  try {
    expect(live() - before).toBeLessThan(10)
    expect(checked.accepted.users).toBe(users)
    expect(checked.findings.summaries()).toEqual([])
    expect(checked.has("users", user(users - 1).row as BulkRows["users"])).toBe(true)
    expect(checked.has("users", user(users).row as BulkRows["users"])).toBe(false)
    for await (const page of origin.pages("users")) expect(checked.isSound("users", page)).toBe(true)
  } finally {
    checked.close()
  }
})
