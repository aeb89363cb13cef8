import {
  numbersTo,
  openPlanned,
  type PlannedDatabase,
  plannedTargets,
} from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import { range } from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"

/** The number of events, which belong to 20 tenants. All but the last one have sequences. */
const count = 20_000

describe.each(plannedTargets())("plans of the events on %s", (target) => {
  let planned: PlannedDatabase
  /** The planned.recorded statements of the cleanup. */
  const cleaning: Ran[] = []

  /** Opens a store that records every statement instead of changing anything. */
  const recordingStore = () => planned.recordingStore({ changes: false, eventsKeepMs: 1 })

  beforeAll(async () => {
    planned = await openPlanned(target)
    const now = target === "sqlite" ? "'2030-01-01 00:00:00.000'" : "'2030-01-01'"
    await planned.tables.query(`INSERT INTO event_head (tenant, sequence, history)
      SELECT CONCAT('tenant ', n), ${count}, 'A' FROM ${numbersTo(count)}`)
    await planned.tables.query("INSERT INTO event_head (tenant, sequence, history) SELECT name, 0, 'A' FROM tenants")
    await planned.tables.query(`INSERT INTO events (tenant, kind, user_id, sequence, created)
      SELECT CONCAT('tenant ', n % 20), 'user.updated', 'u', n, ${now} FROM ${numbersTo(count)}`)
    await planned.tables.query(`INSERT INTO events (tenant, kind, created) VALUES ('tenant 1', 'user.updated', ${now})`)
    await planned.tables.query(`INSERT INTO tenants (name, created) VALUES ('tenant 7', ${now})`)
    const old = recordingStore().expired.tables.find(({ table }) => table === "events")
    const span = { from: new Date(0), before: new Date(Date.UTC(2040, 0, 1)), limit: 20 }
    for (let found: unknown; found !== null; ) {
      planned.recorded.length = 0
      found = await old?.deleteBatch({}, span)
      // The first batch of the tenant with events. Nothing is deleted, so that it would never end.
      if (planned.recorded.some(([sql]) => sql.startsWith("DELETE"))) break
    }
    cleaning.push(...planned.recorded.slice(-2))
    await planned.analyze("event_head")
    await planned.analyze("events")
  })
  afterAll(() => planned.close())

  const whole = /filesort|TEMP B-TREE|Seq Scan|SCAN [eh]\b|SCAN events|\bALL\b/
  const byKey = /PRIMARY|events_pkey|PRIMARY KEY|event_head_pkey|sqlite_autoindex_event_head_1/
  test.each<[string, (store: Store) => Promise<unknown>, (RegExp | undefined)[]]>([
    [
      "sequence: checks by the index, locks the head, finds events without one by the index, and updates them by id",
      (store) => store.events.sequence({ tenant: "tenant 1" }),
      [/events_tenant/, byKey, /events_tenant/, byKey, byKey],
    ],
    ["sequence, with nothing to do", (store) => store.events.sequence({ tenant: "tenant 7" }), [/events_tenant/]],
    [
      "sequence, of 384 tenants: six statements",
      (store) => Promise.all(range(384).map((n) => store.events.sequence({ tenant: `tenant ${n + 2}` }))),
      range(6).map(() => /events_tenant/),
    ],
    ["read", (store) => store.events.read({ tenant: "tenant 7" }, { after: 10_000, limit: 100 }), [/events_tenant/]],
    [
      "history",
      (store) => store.events.history({ tenant: "tenant 7" }),
      [/events_tenant/, /events_tenant|Select tables optimized away/],
    ],
  ])("%s", async (_, call, indexes) => {
    planned.recorded.length = 0
    await call(recordingStore())
    expect(planned.recorded).toHaveLength(indexes.length)
    for (const [n, index] of indexes.entries()) {
      if (index === undefined) continue
      const plan = await planned.plans.text(planned.recorded[n] as Ran)
      expect(plan).toMatch(index)
      expect(plan).not.toMatch(whole)
    }
  })

  test("cleanup: finds the lowest sequences of a tenant by the index, and deletes their rows by it", async () => {
    for (const statement of cleaning) {
      const plan = await planned.plans.text(statement)
      expect(plan).toMatch(/events_tenant/)
      expect(plan).not.toMatch(whole)
    }
  })
})
