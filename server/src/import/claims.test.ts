import { expect, test } from "@jest/globals"
import { type BulkName, type BulkRows, bulkNames, type Holders } from "../store/sql/index.js"
import { check } from "./check.js"
import { type ImportSource, type Item, keyDigest, labelOf } from "./item.js"

type Rows = { [N in BulkName]?: (Partial<BulkRows[N]> & { isFaulty?: boolean })[] }

function originOf(rows: Rows): ImportSource {
  const itemsOf = <N extends BulkName>(name: N) =>
    (rows[name] ?? []).map(({ isFaulty, ...given }): Item<BulkRows[N]> => {
      const row = given as unknown as BulkRows[N]
      const item = { key: keyDigest[name](row), label: labelOf[name](row), conversions: [] }
      return isFaulty
        ? { ...item, row: undefined, faults: [{ kind: "invalid", detail: "" }] }
        : { ...item, row, faults: [] }
    })
  return {
    ...{ notes: [], close: async () => {} },
    count: async (name) => itemsOf(name).length,
    async *pages(name) {
      const all = itemsOf(name)
      if (all.length > 0) yield { length: all.length, items: () => all }
    },
  }
}

/** A tenant in which each address and each account has the named user. */
const heldBy = (addresses: Record<string, string>, accounts: Record<string, string> = {}): Holders => ({
  users: async (rows) => rows.map(({ emailKey = "" }) => addresses[emailKey]),
  accounts: async (rows) => rows.map(({ providerAccountId }) => accounts[providerAccountId]),
})
const user = (id: string, emailKey?: string, isFaulty = false) => ({ id, emailKey, isFaulty })
const account = (userId: string, providerAccountId: string) => ({ userId, provider: "p", providerAccountId })

test.each<[string, Rows, Holders, boolean, string[], number]>([
  ["that the same user has", { users: [user("1", "a")] }, heldBy({ a: "1" }), false, [], 1],
  ["of a user that the source does not have", { users: [user("1", "a")] }, heldBy({ a: "x" }), false, ["user 1: x"], 0],
  ["of a user that will be deleted", { users: [user("1", "a")] }, heldBy({ a: "x" }), true, [], 1],
  [
    "of a user that the source skips",
    { users: [user("1", "a"), user("x", "b", true)] },
    heldBy({ a: "x" }),
    true,
    ["user 1: x"],
    0,
  ],
  [
    "that users exchange",
    { users: [user("1", "a"), user("2", "b"), user("3", "c")] },
    heldBy({ a: "2", b: "3", c: "1" }),
    false,
    [],
    3,
  ],
  [
    "of a user that cannot get another one, and so on",
    { users: [user("1", "a"), user("2", "b"), user("3", "c"), user("4", "d")] },
    heldBy({ a: "2", b: "3", c: "x", d: "5" }),
    true,
    [],
    4,
  ],
  [
    "of a user that cannot get another one, and so on",
    { users: [user("1", "a"), user("2", "b"), user("3", "c"), user("4", "d"), user("5", "e")] },
    heldBy({ a: "2", b: "3", c: "x", d: "5" }),
    false,
    ["user 1: 2", "user 2: 3", "user 3: x"],
    2,
  ],
  [
    "of accounts: only that of a user that stays is taken",
    { users: [user("1"), user("2")], accounts: [account("1", "k"), account("1", "l"), account("1", "m")] },
    heldBy({}, { k: "x", l: "2", m: "1" }),
    false,
    ["account of user 1 with p: x"],
    2,
  ],
])("addresses and keys %s", async (_, rows, holders, deletes, found, accepted) => {
  const all: string[] = []
  const checked = await check(originOf(rows), {
    target: { holders, deletes },
    onFinding({ kind, row, detail }) {
      if (kind === "taken") all.push(`${row}: ${/user (\S+)/.exec(detail)?.[1]}`)
    },
  })
  try {
    expect(all.sort()).toEqual(found)
    const name = rows.accounts === undefined ? "users" : "accounts"
    expect(checked.accepted[name]).toBe(accepted)
    // The gate of a copy, the lookups of a comparison and the numbers agree.
    const gate = checked.gate(name)
    for await (const page of originOf(rows).pages(name)) {
      const admitted = page.items(false).filter((item) => gate(item, false) !== undefined)
      expect(admitted).toHaveLength(accepted)
      for (const { row } of page.items(false)) {
        if (row === undefined) continue
        const isAdmitted = admitted.some(({ key }) => key === keyDigest[name](row as never))
        expect([checked.has(name, row), checked.skips(name, row)]).toEqual([isAdmitted, !isAdmitted])
      }
    }
    expect(checked.findings.errors > 0).toBe(bulkNames.some((one) => checked.skipped[one] > 0))
  } finally {
    checked.close()
  }
})
