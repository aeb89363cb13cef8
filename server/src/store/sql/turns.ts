import type { Database } from "./database.js"
import type { Change, Statement, Statements } from "./query/statement.js"
import type { ChangeOf } from "./schema/changes.js"

/*
 * Transactions that count what a tenant or a user has, or check it, take turns on its row, although they do not change it.
 *
 * Where several members of a cluster accept writes, a lock holds on its own member only, and of two transactions on different members
 * one fails if both write the same row. A foreign key is not enough: on Galera a new row does not conflict with an update of the row
 * that it refers to. So each transaction also writes the row there: it changes a time, and changes it back.
 */

type ForTurns = Pick<Database, "dialect" | "hasOtherWriters" | "tables">

interface Turns<Key> {
  /** Takes the turn on the row with the key, until the transaction ends. */
  take(sql: Statements, key: Key): Promise<void>
  /** The changes that make a transaction conflict with those that take the turn, or change the row, on other members. */
  changes(key: Key): readonly Change[]
}

/** Creates the statement that locks the row of a tenant. */
export function tenantLock({ dialect, tables: { tenants } }: Pick<ForTurns, "dialect" | "tables">) {
  return tenants.statement(dialect.locking(tenants.selectFrom("t").where(tenants.keyIs("t")), "wait"), ...tenants.key)
}

export function tenantTurns(database: ForTurns): Turns<{ name: string }> {
  const { tenants } = database.tables
  const lock = tenantLock(database)
  const writes = database.hasOtherWriters ? [tenants.shift("created", "-"), tenants.shift("created", "+")] : []
  return turns(lock, writes)
}

export function userTurns({ hasOtherWriters, tables: { users } }: ForTurns): Turns<{ tenant: string; id: string }> {
  const writes = hasOtherWriters ? [users.shift("updated", "-"), users.shift("updated", "+")] : []
  return turns(users.byKeyForUpdate, writes)
}

function turns<Key>(lock: Statement<Key>, writes: readonly ChangeOf<Key>[]): Turns<Key> {
  const changes = (key: Key) => writes.map((write) => write(key))
  return {
    changes,
    async take(sql, key) {
      await sql.read(lock, key)
      await sql.change(changes(key))
    },
  }
}
