import { setTimeout as delay } from "node:timers/promises"
import { until } from "@authwire/test-support/until.js"
import { expect, jest, test } from "@jest/globals"
import type { Logger } from "pino"
import { StoreError } from "../errors/store-error.js"
import type { AuditStore, StoredAuditEntry } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"
import { auditTable, maxWaiting, maxWaitingOfTenant } from "./audit-table.js"

const entryOf = (method: string) => ({ method, code: "OK", created: new Date(0) }) as AuditEntry

/** A table whose database answers when it is told to, and what it has stored. */
function openTable() {
  const stored: (readonly StoredAuditEntry[])[] = []
  const answered = Promise.withResolvers<void>()
  let failures: Record<string, Error> = {}
  let tries = 0
  const add: AuditStore["add"] = async (_, entries) => {
    await answered.promise
    tries++
    const of = (name: string) => entries.some(({ tenant }) => tenant === name)
    const failed = new Map<string, unknown>(Object.entries(failures).filter(([name]) => of(name)))
    stored.push(entries.filter(({ tenant }) => !failed.has(tenant)))
    return failed
  }
  const audit = { add } as AuditStore
  const error = jest.fn()
  const table = auditTable(audit, { error } as unknown as Logger)
  const of = (tenant: string) => stored.flat().filter((one) => one.tenant === tenant)
  return {
    table,
    stored,
    error,
    answer: answered.resolve,
    tries: () => tries,
    /** Lets the entries of tenants fail. */
    fail(now: Record<string, Error>) {
      failures = now
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

test("many entries of one key and method leave those of other keys and methods", async () => {
  for (const isRoutine of [true, false]) {
    const { table, answer, countOf, lossOf } = openTable()
    const of = (keyId: string, method: string) => table.keep({ ...entryOf(method), keyId }, "a", isRoutine)
    for (let n = 0; n < 50; n++) of("quiet", "before")
    for (let n = 0; n < 2 * maxWaitingOfTenant; n++) of("busy", "flood")
    for (let n = 0; n < 50; n++) {
      of("busy", "other")
      of("quiet", "after")
    }
    answer()
    await table.stop()
    expect(["before", "other", "after"].map((method) => countOf("a", method))).toEqual([50, 50, 50])
    expect(countOf("a", "flood") + lossOf("a")).toBe(2 * maxWaitingOfTenant)
    // The first entry is taken at once, so that it no longer waits.
    expect(countOf("a", "flood")).toBe(maxWaitingOfTenant - 149)
  }
})

test("a lost entry that stands for several calls is counted with their number", async () => {
  const { table, answer, countOf, lossOf } = openTable()
  const refused = { ...entryOf("GetUser"), keyId: "k", count: 5 }
  for (let n = 0; n <= maxWaitingOfTenant + 10; n++) table.keep(refused, "a", false)
  answer()
  await table.stop()
  // The first entry is taken at once, so that it no longer waits.
  expect([countOf("a", "GetUser"), lossOf("a")]).toEqual([maxWaitingOfTenant + 1, 50])
})

test("a batch has entries of every tenant that waits", async () => {
  const { table, stored, answer } = openTable()
  for (let n = 0; n < 1_000; n++) table.keep(entryOf("Encode"), "busy", true)
  for (const tenant of ["a", "b", "c"]) table.keep(entryOf("UpdateUser"), tenant, false)
  answer()
  await table.stop()
  expect(new Set(stored[1]?.map(({ tenant }) => tenant))).toEqual(new Set(["busy", "a", "b", "c"]))
})

const away = new StoreError("DATABASE_UNAVAILABLE", "the database is away")

test("entries that could not be stored are stored later, and those of other tenants meanwhile", async () => {
  const { table, error, answer, fail, tries, countOf, lossOf } = openTable()
  fail({ a: away })
  answer()
  for (let n = 0; n < 500; n++) for (const tenant of ["a", "b"]) table.keep(entryOf("UpdateUser"), tenant, false)
  await until(() => countOf("b", "UpdateUser") === 500)
  table.keep(entryOf("DeleteUser"), "a", false)
  table.keep(entryOf("DeleteUser"), "b", false)
  await until(() => countOf("b", "DeleteUser") === 1)
  expect(countOf("a", "UpdateUser")).toBe(0)
  // The tenant is tried once a second only.
  const before = tries()
  await delay(500)
  expect(tries() - before).toBeLessThan(3)
  fail({})
  await until(() => countOf("a", "DeleteUser") === 1)
  expect([countOf("a", "UpdateUser"), lossOf("a"), countOf("b", "UpdateUser"), lossOf("b")]).toEqual([500, 0, 500, 0])
  expect(error.mock.calls).toEqual([[{ err: away }, "entries of the audit cannot be stored"]])
  await table.stop()
})

test("entries that the database never stores are counted, and do not hold up later ones", async () => {
  const { table, error, answer, fail, countOf, lossOf } = openTable()
  fail({ a: new Error("a value is not valid") })
  answer()
  table.keep(entryOf("UpdateUser"), "a", false)
  await until(() => error.mock.calls.length === 1)
  fail({})
  table.keep(entryOf("DeleteUser"), "a", false)
  await until(() => lossOf("a") === 1)
  expect([countOf("a", "UpdateUser"), countOf("a", "DeleteUser")]).toEqual([0, 1])
  expect(error.mock.calls[1]?.[0]).toEqual({ entries: 1 })
  await table.stop()
})

test("the end does not wait for a database that is away, and counts what is lost", async () => {
  const { table, error, answer, fail, tries } = openTable()
  fail({ a: away, b: away })
  answer()
  for (let n = 0; n < 500; n++) for (const tenant of ["a", "b"]) table.keep(entryOf("UpdateUser"), tenant, false)
  // The first entry by itself, then the others of each tenant.
  await until(() => tries() === 3)
  await table.stop()
  expect(tries()).toBe(4)
  expect(error.mock.calls.map(([fields]) => fields)).toEqual([{ err: away }, { entries: 1_000 }])
})
