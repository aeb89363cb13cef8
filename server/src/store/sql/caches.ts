import type { CacheStore } from "../store.js"
import { databaseClock } from "./clock.js"
import type { Database } from "./database.js"
import { failsBy } from "./engine/statement-error.js"
import { statement } from "./query/statement.js"
import type { CacheRow } from "./schema/entities.js"

export function cacheStore(database: Database): CacheStore {
  const { caches } = database.tables
  const clock = databaseClock(database)
  const update = caches.statement(
    caches.updateOf("version", "leaseMs", "confirmed", "expires").where("process = :process AND version < :version"),
    "process",
    "version",
    "leaseMs",
    "confirmed",
    "expires",
  )
  const selectLiving = statement<CacheRow, { now: Date }>(caches.selectFrom("c").where("c.expires > :now"), {
    now: ({ now }) => caches.cell("expires", now),
  })

  return {
    // The clock is read first: whoever is held up between the two statements has said it for a shorter time.
    keep: (waiter, { ms, ...said }) =>
      database.writes(waiter, [caches.nameOf(said)], async (sql) => {
        const now = await clock(sql)
        const row = { ...said, expires: new Date(now.getTime() + ms) }
        if ((await sql.write(update, row)) === 1) return true
        if ((await sql.read(caches.byKey, row)).length > 0) return false
        try {
          await sql.write(caches.insert, row)
          return true
        } catch (error) {
          if (failsBy(error, "duplicate")) return false
          throw error
        }
      }),

    // Whoever is held up between the two statements finds some that have run out, not fewer.
    list: (waiter) =>
      database.statements(waiter, async (sql) => {
        const now = await clock(sql)
        const rows = await sql.read(selectLiving, { now })
        return rows.map((cells) => {
          const { process, leaseMs, confirmed } = caches.row(cells)
          return { process, leaseMs, confirmed }
        })
      }),
  }
}
