import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { numbersTo, openPlanned, type PlannedDatabase } from "@authwire/test-support/databases/planned-database.js"
import type { Ran } from "@authwire/test-support/databases/plans.js"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import type { Store } from "../../store.js"

/** The number of events, which belong to 20 tenants. All but the last one have sequences. */
const count = 20_000

describe.each(databaseTargets())("plans of the events on %s", (target) => {
  let planned: PlannedDatabase
  /** The planned.recorded statements of the cleanup. */
  const cleaning: Ran[] = []

  /** Opens a store that records every statement instead of changing anything. */
  const recordingStore = () => planned.recordingStore({ changes: false, eventsKeepMs: 1 })

  beforeAll(async () => {
    planned = await openPlanned(target)
    const now = target === "sqlite" ? "'2030-01-01 00:00:00.000'" : "'2030-01-01'"
    await planned.tables.query(`INSERT INTO events (tenant, kind, user_id, sequence, created)
      SELECT CONCAT('tenant ', n % 20), 'user.updated', 'u', n, ${now} FROM ${numbersTo(count)}`)
    await planned.tables.query(`UPDATE event_head SET sequence = ${count}`)
    await planned.tables.query(`INSERT INTO events (tenant, kind, created) VALUES ('tenant 1', 'user.updated', ${now})`)
    const old = recordingStore().expired.tables.find(({ table }) => table === "events")
    await old?.deleteBatch({}, { from: new Date(0), before: new Date(Date.UTC(2040, 0, 1)), limit: 20 })
    cleaning.push(...planned.recorded.slice(-2))
    await planned.analyze("events")
  })
  afterAll(() => planned.close())

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
    planned.recorded.length = 0
    await call(recordingStore())
    expect(planned.recorded).toHaveLength(indexes.length)
    for (const [n, index] of indexes.entries()) {
      if (index === undefined) continue
      const plan = await planned.plans.text(planned.recorded[n] as Ran)
      expect(plan).toMatch(index)
      expect(plan.replace(/\bSCAN h\b/, "")).not.toMatch(n === 0 && target !== "sqlite" ? /Seq Scan on events/ : whole)
    }
  })

  test("cleanup: finds the lowest sequences by the index, and deletes their rows by id", async () => {
    const [select, deletion] = cleaning as [Ran, Ran]
    const plan = await planned.plans.text(select)
    expect(plan).toMatch(/events_sequence/)
    expect(plan).not.toMatch(whole)
    expect(await planned.plans.text(deletion)).toMatch(/PRIMARY|events_pkey|PRIMARY KEY/)
  })
})
