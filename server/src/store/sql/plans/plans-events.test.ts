import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { type Plans, plansOf, type Ran } from "@authwire/test-support/databases/plans.js"
import { recordingDatabase } from "@authwire/test-support/databases/recording-database.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { encryptionKeys } from "../../conformance/context.js"
import type { StoreDatabase } from "../../conformance.js"
import type { Store } from "../../store.js"
import { type Database, openDatabase, sqlStore } from "../index.js"

/** The number of events, which belong to 20 tenants. All but the last one have sequences. */
const count = 20_000

describe.each(databaseTargets())("plans of the events on %s", (target) => {
  let tables: StoreDatabase & { url: string; query(sql: string): Promise<unknown> }
  let database: Database
  let plans: Plans
  const recorded: Ran[] = []
  /** The recorded statements of the cleanup. */
  const cleaning: typeof recorded = []

  /** Opens a store that records every statement instead of changing anything. */
  const recordingStore = () =>
    sqlStore(recordingDatabase(database, recorded, { changes: false }), { encryptionKeys, eventsKeepMs: 1 })

  beforeAll(async () => {
    tables = await createStoreDatabase(target)
    database = await openDatabase({ url: tables.url, poolSize: 1 })
    plans = plansOf(target, database)
    const now = target === "sqlite" ? "'2030-01-01 00:00:00.000'" : "'2030-01-01'"
    const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
      SELECT (a.n - 1) * 200 + b.n AS n FROM numbers a, numbers b`
    const isInnoDb = target === "mysql" || target === "mariadb"
    const tenant = isInnoDb ? "CONCAT('tenant ', n % 20)" : "'tenant ' || (n % 20)"
    await tables.query(`INSERT INTO events (tenant, kind, user_id, sequence, created)
      SELECT ${tenant}, 'user.updated', 'u', n, ${now} FROM (${numbers}) AS all_numbers WHERE n <= ${count}`)
    await tables.query(`UPDATE event_head SET sequence = ${count}`)
    await tables.query(`INSERT INTO events (tenant, kind, created) VALUES ('tenant 1', 'user.updated', ${now})`)
    const old = recordingStore().expired.tables.find(({ table }) => table === "events")
    await old?.deleteBatch({}, { from: new Date(0), before: new Date(Date.UTC(2040, 0, 1)), limit: 20 })
    cleaning.push(...recorded.slice(-2))
    if (target !== "sqlite") await tables.query(`${target === "postgres" ? "VACUUM ANALYZE" : "ANALYZE TABLE"} events`)
  })
  afterAll(async () => {
    await database.close()
    await tables.drop()
  })

  const whole = /filesort|TEMP B-TREE|Seq Scan on events|SCAN e\b|SCAN events|\bALL\b/
  test.each<[string, (store: Store) => Promise<unknown>, (RegExp | undefined)[]]>([
    [
      "sequence: checks by the index, locks the head, finds events without one by the index, and updates them by id",
      (store) => store.events.sequence({}),
      [/events_sequence/, undefined, /events_sequence/, /PRIMARY|events_pkey|PRIMARY KEY/, undefined],
    ],
    ["read, of all tenants", (store) => store.events.read({}, { after: 19_000, limit: 100 }), [/events_sequence/]],
    [
      "read, of one tenant",
      (store) => store.events.read({}, { after: 10_000, limit: 100, tenant: "tenant 7" }),
      [/events_tenant/],
    ],
    ["last", (store) => store.events.last({ tenant: "tenant 7" }), [/events_tenant|Select tables optimized away/]],
    [
      "history",
      (store) => store.events.history({}),
      [/events_sequence/, /events_sequence|Select tables optimized away/],
    ],
  ])("%s", async (_, call, indexes) => {
    recorded.length = 0
    await call(recordingStore())
    expect(recorded).toHaveLength(indexes.length)
    for (const [n, index] of indexes.entries()) {
      if (index === undefined) continue
      const plan = await plans.text(recorded[n] as Ran)
      expect(plan).toMatch(index)
      expect(plan.replace(/\bSCAN h\b/, "")).not.toMatch(n === 0 && target !== "sqlite" ? /Seq Scan on events/ : whole)
    }
  })

  test("cleanup: finds the lowest sequences by the index, and deletes their rows by id", async () => {
    const [select, deletion] = cleaning as [Ran, Ran]
    const plan = await plans.text(select)
    expect(plan).toMatch(/events_sequence/)
    expect(plan).not.toMatch(whole)
    expect(await plans.text(deletion)).toMatch(/PRIMARY|events_pkey|PRIMARY KEY/)
  })
})
