import type { LeaseStore } from "../store.js"
import { databaseClock } from "./clock.js"
import type { Database } from "./database.js"
import { statement } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import type { LeaseRow } from "./schema/rows.js"

export function leaseStore(database: Database): LeaseStore {
  const { leases } = database.tables
  const clock = databaseClock(database)
  /** Acquires or renews an existing lease, unless another holder has it at `now`. */
  const take = statement<LeaseRow, LeaseRow & { now: Date }>(
    leases.updateOf("holder", "until").where("name = :name AND (holder = :holder OR until < :now)"),
    {
      name: ({ name }) => leases.cell("name", name),
      holder: ({ holder }) => leases.cell("holder", holder),
      until: ({ until }) => leases.cell("until", until),
      now: ({ now }) => leases.cell("until", now),
    },
  )
  const deleteHeld = leases.statement(leases.deleteFrom().where("name = :name AND holder = :holder"), "name", "holder")

  return {
    // The clock is read first. With a delay between the two statements fewer leases count as expired, and the acquired
    // lease ends earlier.
    acquire: (waiter, { name, holder, ms }) =>
      database.write(waiter, [leases.nameOf({ name })], async (sql) => {
        const now = await clock(sql)
        const row = { name, holder, until: new Date(now.getTime() + ms), now }
        if ((await sql.write(take, row)) === 1) return true
        if ((await sql.read(leases.byKey, row)).length > 0) return false
        try {
          await sql.write(leases.insert, row)
          return true
        } catch (error) {
          if (failsBy(error, "duplicate")) return false
          throw error
        }
      }),

    release: (waiter, key) =>
      database.write(waiter, [leases.nameOf(key)], async (sql) => {
        await sql.write(deleteHeld, key)
      }),
  }
}
