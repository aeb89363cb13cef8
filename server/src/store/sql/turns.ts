import type { ObjectLiteral } from "typeorm"
import type { Database } from "./database.js"
import type { Statement, Statements } from "./query/statement.js"
import type { Table } from "./schema/table.js"

/*
 * Transactions that count what a tenant or a user has, or check it, take turns on its row, although they do not change it.
 *
 * Where several members of a cluster accept writes, a lock holds on its own member only, and of two transactions on different members
 * one fails if both write the same row. There each transaction also writes the row: it changes a time, and changes it back.
 */

type ForTurns = Pick<Database, "dataSource" | "dialect" | "hasOtherWriters" | "tables">

/** Takes the turn on the row with the key, until the transaction ends. */
type Turn<Key> = (sql: Statements, key: Key) => Promise<void>

/** Creates the statement that locks the row of a tenant. */
export function tenantLock({ dialect, tables: { tenants } }: Pick<ForTurns, "dialect" | "tables">) {
  return tenants.statement(dialect.locking(tenants.selectFrom("t").where(tenants.keyIs("t")), "wait"), ...tenants.key)
}

export function tenantTurn(database: ForTurns): Turn<{ name: string }> {
  return turnOn(database, database.tables.tenants, tenantLock(database), "created")
}

export function userTurn(database: ForTurns): Turn<{ tenant: string; id: string }> {
  const { users } = database.tables
  return turnOn(database, users, users.byKeyForUpdate, "updated")
}

/** @param time a column that is never null. */
function turnOn<Row extends ObjectLiteral, Key extends keyof Row & string>(
  { dataSource, hasOtherWriters }: ForTurns,
  table: Table<Row, Key>,
  lock: Statement<Pick<Row, Key>>,
  time: keyof Row & string,
): Turn<Pick<Row, Key>> {
  const changeBy = (sign: string) => {
    const set = { [time]: () => `${time} ${sign} INTERVAL 1 SECOND` }
    const update = dataSource.createQueryBuilder().update(table.entity).set(set)
    return table.statement(update.where(table.keyIs()), ...table.key)
  }
  const writes = hasOtherWriters ? [changeBy("-"), changeBy("+")] : []
  return async (sql, key) => {
    await sql.read(lock, key)
    for (const write of writes) await sql.write(write, key)
  }
}
