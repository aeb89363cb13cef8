import type { ObjectLiteral } from "typeorm"
import { oncePer } from "../../util/once-per.js"
import type { ExpiredRows, ExpiredStore } from "../store.js"
import { databaseClock } from "./clock.js"
import { type Database, withShards } from "./database.js"
import { endedTokensBeyond, maxEndedTokens } from "./ended-tokens.js"
import { eventSequences } from "./events/event-sequences.js"
import { oldEvents } from "./events/old-events.js"
import type { Cell } from "./query/statement.js"
import { deleteByKeys } from "./schema/delete-by-keys.js"
import type { Table } from "./schema/table.js"
import { deletedUsers } from "./users/user-deletions.js"
import { alongIndex } from "./walks/along.js"
import { type AnyWalk, walks } from "./walks/walks.js"

/**
 * Creates the cleanup of expired rows. Each table has a time column and, unless the operator decides, a retention time.
 */
export function expiredStore(database: Database, options: ExpiredOptions): ExpiredStore {
  const clock = databaseClock(database)
  const tablesOf = oncePer((one: Database) => expiredIn(one, options))
  return {
    // Of all shards that there are now.
    get tables() {
      return withShards(database).flatMap(tablesOf)
    },
    now: (waiter) => clock(database.reads(waiter)),
  }
}

type ExpiredOptions = { eventsKeepMs: number; auditKeepMs: number }

function expiredIn(database: Database, { eventsKeepMs, auditKeepMs }: ExpiredOptions): ExpiredRows[] {
  return [
    expiredRows(database, walks.sessionsByExpiry),
    expiredRows(database, walks.verificationTokensByExpiry),
    expiredRows(database, walks.idempotencyKeysByCreation, idempotencyKeysMs),
    expiredRows(database, walks.cachesByExpiry, cachesMs),
    expiredRows(database, walks.endedTokensByExpiry, 0),
    endedTokensBeyond(database, maxEndedTokens),
    expiredRows(database, walks.deliveriesByExpiry, 0),
    ...(auditKeepMs > 0 ? [expiredRows(database, walks.auditEntriesByCreation, auditKeepMs)] : []),
    oldEvents(database, eventsKeepMs, eventSequences(database).step),
    deletedUsers(database),
  ]
}

/** How long answers are kept for repeated requests: 24 hours. */
const idempotencyKeysMs = 86_400_000

/** How long rows of processes that have ended are kept after their expiry. */
const cachesMs = 60_000

function expiredRows(database: Database, walk: AnyWalk, keepMs?: number): ExpiredRows {
  const table = database.tables[walk.table] as unknown as Table<ObjectLiteral, string>
  const [column] = walk.order as [string]
  const timesOf = (rows: Cell[][]) =>
    table.readable(rows, (row) => table.value(column, row[table.key.length] as Cell) as Date)

  // Rows that other transactions have locked are skipped, so no batch waits while it holds locks, and no lock can block
  // the cleanup.
  const firstOf = oncePer((limit: number) =>
    alongIndex(database, table, walk, {
      alias: "t",
      select: [...table.key, column].map((property) => `t.${property}`).join(", "),
      ...{ from: [column], to: [column], limit, ifLocked: "skip" },
    }),
  )
  const deleteRows = deleteByKeys(table)

  return {
    table: table.name,
    keepMs,
    deleteBatch(waiter, { from, before, limit }) {
      return database.write(waiter, [], async (sql) => {
        const rows = await sql.read(firstOf(limit), {
          from: { [column]: from },
          // Times are kept to the millisecond.
          to: { [column]: new Date(before.getTime() - 1) },
        })
        if (rows.length === 0) return null
        await deleteRows(sql, rows)
        const times = timesOf(rows)
        return { count: rows.length, first: times[0] ?? from, last: times.at(-1) ?? from }
      })
    },
  }
}
