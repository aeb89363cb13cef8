import { expect, jest, test } from "@jest/globals"
import type { Logger } from "pino"
import type { AuditStore, Caller } from "../store/store.js"
import type { AuditEntry } from "../store/types.js"
import { auditTable, maxWaiting, maxWaitingOfTenant } from "./audit-table.js"

test("entries of one tenant that wait leave room for those of others, and all that are lost are counted", async () => {
  const stored = new Map<string, number>()
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const audit = {
    async add({ tenant }: Caller, entries: readonly AuditEntry[]) {
      await answered
      stored.set(tenant, (stored.get(tenant) ?? 0) + entries.length)
    },
  } as AuditStore
  const error = jest.fn()
  const entries = auditTable(audit, { error } as unknown as Logger)
  const entry = { method: "m", created: new Date(0) } as AuditEntry
  for (let count = 0; count < maxWaiting; count++) entries.keep(entry, "busy")
  for (let count = 0; count < 100; count++) entries.keep(entry, "other")
  answer()
  await entries.stop()
  // The first entry is taken at once, so that it no longer waits.
  expect(Object.fromEntries(stored)).toEqual({ busy: maxWaitingOfTenant + 1, other: 100 })
  expect(error.mock.calls[0]?.[0]).toEqual({ entries: maxWaiting - maxWaitingOfTenant - 1 })
})
