import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { numbersTo, openPlanned, type PlannedDatabase } from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { AuditFilter } from "../../types.js"
import { rowsPerStatement } from "../walks/list.js"

/** The number of entries, which belong to two tenants, 20 users and 40 keys. Almost all call the same method. */
const count = 20_000

describe.each(databaseTargets())("plans of the audit on %s", (target) => {
  let planned: PlannedDatabase

  beforeAll(async () => {
    planned = await openPlanned(target)
    const isInnoDb = target === "mysql" || target === "mariadb"
    const time = isInnoDb
      ? "'2030-01-01' + INTERVAL n SECOND"
      : target === "postgres"
        ? "timestamptz '2030-01-01' + n * interval '1 second'"
        : "strftime('%Y-%m-%d %H:%M:%f', '2030-01-01', n || ' seconds')"
    await planned.tables.query(`INSERT INTO audit_entries (tenant, created, method, key_id, subject, details)
      SELECT CONCAT('tenant ', n % 2), ${time}, CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'often' END,
        CONCAT('key ', n % 40), CONCAT('user ', n % 20), '{"code":"OK"}'
      FROM ${numbersTo(count)}`)
    await planned.analyze("audit_entries")
  })
  afterAll(() => planned.close())

  const since = new Date("2030-01-01T01:00:00Z")
  const before = new Date("2030-01-01T05:00:00Z")
  test.each<[string, AuditFilter, RegExp]>([
    ["all", {}, /audit_entries_tenant/],
    ["of a time", { since, before }, /audit_entries_tenant/],
    ["of a user", { subject: "user 4" }, /audit_entries_subject/],
    ["of a user and a time", { subject: "user 4", since, before }, /audit_entries_subject/],
    ["of a key", { keyId: "key 4" }, /audit_entries_key/],
    ["of a common method", { method: "often" }, /audit_entries_method/],
    ["of a rare method", { method: "rare" }, /audit_entries_method/],
  ])("a page of the entries reads only them, by an index, and sorts nothing: %s", async (_, filter, index) => {
    const store = planned.recordingStore()
    const caller = { tenant: "tenant 0" }
    const { nextToken: token } = await store.audit.list(caller, filter, { size: 5 })
    planned.recorded.length = 0
    const { items } = await store.audit.list(caller, filter, { size: 5, token })
    expect(items).toHaveLength(5)
    const [ran] = planned.recorded as [Ran]
    const plan = await planned.plans.text(ran)
    expect(plan).toMatch(index)
    expect(plan).not.toMatch(/filesort|TEMP B-TREE|Seq Scan|Sort\b/)
    expect((await planned.plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(rowsPerStatement + 1)
  })
})
