import { expect, jest, test } from "@jest/globals"
import type { Logger } from "pino"
import type { AuditStore, StoredAuditEntry } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"
import { auditTable, maxWaiting, maxWaitingOfTenant } from "./audit-table.js"

const entryOf = (method: string) => ({ method, code: "OK", created: new Date(0) }) as AuditEntry

/** A table whose database answers when it is told to, and what it has stored. */
function openTable() {
  const stored: (readonly StoredAuditEntry[])[] = []
  const answered = Promise.withResolvers<void>()
  let isBroken = false
  const audit = {
    async add(_, entries) {
      await answered.promise
      if (isBroken) throw new Error("the database is away")
      stored.push(entries)
    },
  } as AuditStore
  const error = jest.fn()
  const table = auditTable(audit, { error } as unknown as Logger)
  const of = (tenant: string) => stored.flat().filter((one) => one.tenant === tenant)
  return {
    table,
    stored,
    error,
    answer: answered.resolve,
    break: (broken: boolean) => {
      isBroken = broken
    },
    countOf: (tenant: string, method: string) => of(tenant).filter(({ entry }) => entry.method === method).length,
    lossOf: (tenant: string) =>
      of(tenant).reduce((sum, { entry }) => sum + (entry.code === "DATA_LOSS" ? (entry.count ?? 0) : 0), 0),
  }
}

test("tenants that make many entries leave room for those of others, and what is lost stands in their own audits", async () => {
  const { table, error, answer, countOf, lossOf } = openTable()
  for (let n = 0; n < maxWaiting; n++) for (const tenant of ["one", "two"]) table.keep(entryOf("Encode"), tenant, true)
  for (let n = 0; n < 100; n++) table.keep(entryOf("DeleteUser"), "other", false)
  answer()
  await table.stop()
  expect([countOf("other", "DeleteUser"), lossOf("other")]).toEqual([100, 0])
  for (const tenant of ["one", "two"]) {
    expect(countOf(tenant, "Encode") + lossOf(tenant)).toBe(maxWaiting)
    expect(countOf(tenant, "Encode")).toBeGreaterThan(maxWaiting / 3)
  }
  expect(error.mock.calls[0]?.[0]).toEqual({ entries: lossOf("one") + lossOf("two") })
})

test("entries of writes and of refused calls are never lost before those of calls that change nothing", async () => {
  const { table, answer, countOf, lossOf } = openTable()
  for (let n = 0; n < maxWaiting; n++) table.keep(entryOf("Encode"), "a", true)
  for (let n = 0; n < 1_000; n++) table.keep(entryOf("UpdateUser"), "a", false)
  for (let n = 0; n < 1_000; n++) table.keep(entryOf("Encode"), "a", true)
  answer()
  await table.stop()
  expect(countOf("a", "UpdateUser")).toBe(1_000)
  // The first entry is taken at once, so that it no longer waits.
  expect(countOf("a", "Encode")).toBe(maxWaitingOfTenant - 1_000 + 1)
  expect(lossOf("a")).toBe(maxWaiting + 1_000 - countOf("a", "Encode"))
})

test("a batch has entries of every tenant that waits", async () => {
  const { table, stored, answer } = openTable()
  for (let n = 0; n < 1_000; n++) table.keep(entryOf("Encode"), "busy", true)
  for (const tenant of ["a", "b", "c"]) table.keep(entryOf("UpdateUser"), tenant, false)
  answer()
  await table.stop()
  expect(new Set(stored[1]?.map(({ tenant }) => tenant))).toEqual(new Set(["busy", "a", "b", "c"]))
})

test("entries that a database which is away has not stored are counted once it is back", async () => {
  const { table, error, answer, break: breakIt, countOf, lossOf } = openTable()
  breakIt(true)
  answer()
  for (let n = 0; n < 500; n++) table.keep(entryOf("UpdateUser"), "a", false)
  await table.stop()
  expect(lossOf("a")).toBe(0)
  breakIt(false)
  table.keep(entryOf("UpdateUser"), "a", false)
  await table.stop()
  expect([countOf("a", "UpdateUser"), lossOf("a")]).toEqual([1, 500])
  expect(error.mock.calls.map(([fields]) => fields)).toContainEqual({ entries: 500 })
})
