import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { type Plans, plansOf, type Ran } from "@authwire/test-support/databases/plans.js"
import { recordingDatabase } from "@authwire/test-support/databases/recording-database.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { encryptionKeys } from "../../conformance/context.js"
import type { StoreDatabase } from "../../conformance.js"
import type { AuditFilter } from "../../types.js"
import { type Database, openDatabase, sqlStore } from "../index.js"
import { rowsPerStatement } from "../query/page.js"

/** The number of entries, which belong to two tenants, 20 users and 40 keys. Almost all call the same method. */
const count = 20_000

describe.each(databaseTargets())("plans of the audit on %s", (target) => {
  let tables: StoreDatabase & { url: string; query(sql: string): Promise<unknown> }
  let database: Database
  let plans: Plans
  const recorded: Ran[] = []

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    plans = plansOf(target, database)
    const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
      SELECT (a.n - 1) * 200 + b.n AS n FROM numbers a, numbers b`
    const isInnoDb = target === "mysql" || target === "mariadb"
    const text = (start: string, n: string) => (isInnoDb ? `CONCAT('${start}', ${n})` : `'${start}' || (${n})`)
    const time = isInnoDb
      ? "'2030-01-01' + INTERVAL n SECOND"
      : target === "postgres"
        ? "timestamptz '2030-01-01' + n * interval '1 second'"
        : "strftime('%Y-%m-%d %H:%M:%f', '2030-01-01', n || ' seconds')"
    await tables.query(`INSERT INTO audit_entries (tenant, created, method, key_id, subject, details)
      SELECT ${text("tenant ", "n % 2")}, ${time}, CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'often' END,
        ${text("key ", "n % 40")}, ${text("user ", "n % 20")}, '{"code":"OK"}'
      FROM (${numbers}) AS all_numbers WHERE n <= ${count}`)
    if (target !== "sqlite")
      await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} audit_entries`)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

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
    const store = sqlStore(recordingDatabase(database, recorded, { changes: false }), { encryptionKeys })
    const caller = { tenant: "tenant 0" }
    const { nextToken: token } = await store.audit.list(caller, filter, { size: 5 })
    recorded.length = 0
    const { items } = await store.audit.list(caller, filter, { size: 5, token })
    expect(items).toHaveLength(5)
    const [ran] = recorded as [Ran]
    const plan = await plans.text(ran)
    expect(plan).toMatch(index)
    expect(plan).not.toMatch(/filesort|TEMP B-TREE|Seq Scan|Sort\b/)
    expect((await plans.rowsExamined(ran)) ?? 0).toBeLessThanOrEqual(rowsPerStatement + 1)
  })
})
