import type { Caller, Waiter } from "../store.js"
import type { Database } from "./database.js"
import type { Change, Statements } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"

/*
 * Transactions that count what a tenant or a user has, or check it, take turns on a row.
 *
 * Where several members of a cluster accept writes, a lock holds on its own member only, and of two transactions on different members
 * one fails if both write the same row. A foreign key is not enough: on Galera a new row does not conflict with an update of the row
 * that it refers to. So each transaction also writes there.
 */

/** Creates the statement that locks the row of a tenant. */
export function tenantLock({ dialect, tables: { tenants } }: Pick<Database, "dialect" | "tables">) {
  return tenants.statement(dialect.locking(tenants.selectFrom("t").where(tenants.keyIs("t")), "wait"), ...tenants.key)
}

/** The row that creations change which are few, of whatever tenant. */
const creation = { name: "creation of a tenant", holder: "", until: new Date(0) }

/**
 * Creates the turns of creations by callers that are counted for all tenants, or for one. The row of the tenant is not written, because
 * every insert for it locks this row: Galera would have to end these transactions on the other members.
 */
export function creationTurns(database: Database) {
  const { leases } = database.tables
  const write = leases.statement(leases.updateOf("holder").where(leases.keyIs()), ...leases.key, "holder")
  return {
    rows: [leases.nameOf(creation)],

    /** Inserts the row, in a commit of its own, so that all find it. */
    async prepare(waiter: Waiter | Caller): Promise<void> {
      if ((await database.reads(waiter).read(leases.byKey, creation)).length > 0) return
      const separate = { ...waiter, transaction: undefined }
      try {
        await database.write(separate, [leases.nameOf(creation)], (sql) => sql.write(leases.insert, creation))
      } catch (error) {
        // Another call has inserted it.
        if (!failsBy(error, "duplicate")) throw error
      }
    },

    /** Takes the turn until the transaction ends. The id is that of what is created, so that it is always another one. */
    take: (sql: Statements, id: string): Promise<unknown> => sql.write(write, { ...creation, holder: id }),
  }
}

/** Creates the turns of creations that are counted for one tenant. */
export function tenantTurns(database: Database) {
  const { hasOtherWriters, tables } = database
  const lock = tenantLock(database)
  const beyond = creationTurns(database)
  return {
    rowsOf: (name: string) => [...(hasOtherWriters ? beyond.rows : []), tables.tenants.nameOf({ name })],

    prepare: async (waiter: Waiter | Caller): Promise<void> => {
      if (hasOtherWriters) await beyond.prepare(waiter)
    },

    /** Takes the turn of a tenant until the transaction ends. */
    async take(sql: Statements, name: string, id: string): Promise<void> {
      await sql.read(lock, { name })
      if (hasOtherWriters) await beyond.take(sql, id)
    },
  }
}

/** Creates the turns on the row of a user. There a time is changed, and changed back. */
export function userTurns({ hasOtherWriters, tables: { users } }: Pick<Database, "hasOtherWriters" | "tables">) {
  type Key = { tenant: string; id: string }
  const writes = hasOtherWriters ? [users.shift("updated", "-"), users.shift("updated", "+")] : []
  /** The changes that make a transaction conflict with those that take the turn, or change the row, on other members. */
  const changes = (key: Key): readonly Change[] => writes.map((write) => write(key))
  return {
    changes,
    /** Takes the turn until the transaction ends. */
    async take(sql: Statements, key: Key): Promise<void> {
      await sql.read(users.byKeyForUpdate, key)
      await sql.change(changes(key))
    },
  }
}
