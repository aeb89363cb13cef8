import type { DataSource, EntityMetadata } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { orAborted } from "../../util/abort.js"
import type { Waiter } from "../store.js"
import { databaseClock } from "./clock.js"
import type { DatabaseTime } from "./database-time.js"
import type { SqlEngine } from "./engine/engine.js"
import type { Cell, Statement } from "./query/statement.js"
import { failsBy, storeError } from "./query/statement-error.js"
import type { Tables } from "./schema/tables.js"

/** Runs a statement that may run twice on a connection beside those of the units of work. */
export type Aside = <Values>(statement: Statement<Values>, values: Values, signal?: AbortSignal) => Promise<Cell[][]>

/**
 * Creates the ping of a database. It reads the database's clock first, so the time is known also while the database
 * accepts no writes or lacks a table.
 */
export function databasePing(deps: {
  engine: SqlEngine
  tables: Tables
  aside: Aside
  time: DatabaseTime
}): (waiter: Waiter) => Promise<void> {
  const { engine, tables, aside, time } = deps
  const readClock = databaseClock({ dialect: engine.dialect, tables })
  /** A DELETE that never matches a row, because no tenant has this name. It shows whether the database accepts writes, and changes nothing. */
  const probe = tables.verificationTokens.delete
  const noRow = { tenant: "", identifier: "", tokenHash: Buffer.alloc(32) }
  const shape = shapeStatement(engine.dataSource)
  let pinging: Promise<void> | undefined

  async function pingOnce() {
    try {
      await time.synchronize(() => readClock({ read: aside }))
      await aside(probe, noRow)
      await aside(shape, undefined)
    } catch (cause) {
      // On SQLite any writer locks the whole database. On the other engines this means that the whole table is locked.
      if (failsBy(cause, "locked") && !engine.locksRows) return
      if (failsBy(cause, "read-only")) throw storeError(cause)
      if (failsBy(cause, "fault")) {
        throw new StoreError("DATABASE_UNAVAILABLE", `the tables cannot be used: ${cause.message}`, { cause })
      }
      throw new StoreError("DATABASE_UNAVAILABLE", "the database does not answer", { cause })
    }
  }

  return async ({ signal }) => {
    signal?.throwIfAborted()
    // All callers share one ping at a time, because the pool has one connection for it.
    pinging ??= pingOnce().finally(() => {
      pinging = undefined
    })
    await orAborted(pinging, signal)
  }
}

/** Returns a statement that names every table with all its columns, and reads no row. It fails if one does not exist. */
function shapeStatement({ entityMetadatas }: DataSource): Statement<void> {
  return { sql: `SELECT ${entityMetadatas.map(existenceOf).join(", ")}`, cells: () => [] }
}

function existenceOf({ tableName, columns, dataSource }: EntityMetadata): string {
  const quote = (name: string) => dataSource.driver.escape(name)
  const names = columns.map(({ databaseName }) => quote(databaseName)).join(", ")
  return `EXISTS (SELECT ${names} FROM ${quote(tableName)} WHERE 1 = 0)`
}
