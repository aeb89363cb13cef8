import type { CacheStore } from "../store.js"
import { databaseClock } from "./clock.js"
import type { Database } from "./database.js"
import { statement } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import { tenantNotFound } from "./schema/present-tenants.js"
import type { ReportRow } from "./schema/rows.js"

export function cacheStore(database: Database): CacheStore {
  const { caches } = database.tables
  const clock = databaseClock(database)
  const update = caches.statement(
    caches.updateOf("version", "leaseMs", "confirmed", "expires").where(`${caches.keyIs()} AND version < :version`),
    ...caches.key,
    "version",
    "leaseMs",
    "confirmed",
    "expires",
  )
  const selectLiving = statement<ReportRow, { tenant: string; now: Date }>(
    caches.selectFrom("c").where("c.tenant = :tenant AND c.expires > :now"),
    {
      tenant: ({ tenant }) => caches.cell("tenant", tenant),
      now: ({ now }) => caches.cell("expires", now),
    },
  )

  return {
    // The clock is read first, so that a delay between the two statements makes the row expire earlier and not later.
    keep(caller, { ms, ...said }) {
      const { tenant } = caller
      return database.write(caller, [caches.nameOf({ tenant, ...said })], async (sql) => {
        const now = await clock(sql)
        const row = { tenant, ...said, expires: new Date(now.getTime() + ms) }
        if ((await sql.write(update, row)) === 1) return true
        if ((await sql.read(caches.byKey, row)).length > 0) return false
        try {
          await sql.write(caches.insert, row)
          return true
        } catch (error) {
          if (failsBy(error, "duplicate")) return false
          throw tenantNotFound(error)
        }
      })
    },

    // With a delay between the two statements the result may include expired rows, but none is missing.
    async list(caller) {
      const sql = database.reads(caller)
      const now = await clock(sql)
      const rows = await sql.read(selectLiving, { tenant: caller.tenant, now })
      return rows.map((cells) => {
        const { process, leaseMs, confirmed } = caches.row(cells)
        return { process, leaseMs, confirmed }
      })
    },
  }
}
