import type { ObjectLiteral } from "typeorm"
import { oncePer } from "../../util/once-per.js"
import type { ExpiredRows, ExpiredStore } from "../store.js"
import { databaseClock } from "./clock.js"
import type { Database } from "./database.js"
import { eventStore } from "./events/events.js"
import { oldEvents } from "./events/old-events.js"
import { type Cell, type Statement, statement } from "./query/statement.js"
import { deleteByKeys } from "./schema/delete-by-keys.js"
import type { Table } from "./schema/table.js"
import { deletedUsers } from "./users/user-deletions.js"

/**
 * Creates the cleanup of expired rows. Each table has a time column and, unless the operator decides, a retention time.
 */
export function expiredStore(
  database: Database,
  { eventsKeepMs, auditKeepMs }: { eventsKeepMs: number; auditKeepMs: number },
): ExpiredStore {
  const { sequence } = eventStore(database, { isEnabled: eventsKeepMs > 0 })
  const { sessions, verificationTokens, idempotencyKeys, caches, auditEntries } = database.tables
  const clock = databaseClock(database)
  return {
    tables: [
      expiredRows(database, sessions, "expires"),
      expiredRows(database, verificationTokens, "expires"),
      expiredRows(database, idempotencyKeys, "created", idempotencyKeysMs),
      expiredRows(database, caches, "expires", cachesMs),
      ...(auditKeepMs > 0 ? [expiredRows(database, auditEntries, "created", auditKeepMs)] : []),
      oldEvents(database, eventsKeepMs, sequence),
      deletedUsers(database),
    ],
    now: (waiter) => clock(database.reads(waiter)),
  }
}

/** How long answers are kept for repeated requests: 24 hours. */
const idempotencyKeysMs = 86_400_000

/** How long rows of processes that have ended are kept after their expiry. */
const cachesMs = 60_000

interface Span {
  from: Date
  before: Date
}

function expiredRows<Row extends ObjectLiteral, Key extends keyof Row & string>(
  database: Database,
  table: Table<Row, Key>,
  column: keyof Row & string,
  keepMs?: number,
): ExpiredRows {
  const time = (moment: Date) => table.cell(column, moment as Row[typeof column])
  const timesOf = (rows: Cell[][]) =>
    table.readable(rows, (row) => table.value(column, row[table.key.length] as Cell) as Date)

  // Rows that other transactions have locked are skipped, so no batch waits while it holds locks, and no lock can block
  // the cleanup.
  const firstOf = oncePer((limit: number): Statement<Span> => {
    const select = table
      .selectFrom("t")
      .select([...table.key, column].map((property) => `t.${property}`).join(", "))
      .where(`t.${column} >= :from AND t.${column} < :before`)
      .orderBy(`t.${column}`)
      .limit(limit)
    return statement(database.dialect.locking(select, "skip"), {
      from: ({ from }: Span) => time(from),
      before: ({ before }: Span) => time(before),
    })
  })
  const deleteRows = deleteByKeys(table)

  return {
    table: table.name,
    keepMs,
    deleteBatch(waiter, { from, before, limit }) {
      return database.write(waiter, [], async (sql) => {
        const rows = await sql.read(firstOf(limit), { from, before })
        if (rows.length === 0) return null
        await deleteRows(sql, rows)
        const times = timesOf(rows)
        return { count: rows.length, first: times[0] ?? from, last: times.at(-1) ?? from }
      })
    },
  }
}
