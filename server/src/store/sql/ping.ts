import { randomBytes } from "node:crypto"
import type { DataSource, EntityMetadata } from "typeorm"
import { StoreError } from "../../errors/store-error.js"
import { orAborted } from "../../util/abort.js"
import type { Waiter } from "../store.js"
import { databaseClock } from "./clock.js"
import type { DatabaseTime } from "./database-time.js"
import type { Engine, SqlEngine } from "./engine/engine.js"
import type { FullDisk } from "./full-disk.js"
import type { MissingRights } from "./missing-rights.js"
import type { Cell, Statement } from "./query/statement.js"
import { failsBy } from "./query/statement-error.js"
import type { Tables } from "./schema/tables.js"

/** Runs a statement that may run twice on a connection beside those of the units of work. */
export type Aside = <Values>(statement: Statement<Values>, values: Values, signal?: AbortSignal) => Promise<Cell[][]>

/** How often a ping writes a row, in milliseconds: rarely, because the log of the database grows by it. */
const writeEveryMs = 5_000

/**
 * The size of the row in bytes. SQLite and PostgreSQL need new space for one of this size. InnoDB reuses pages of the
 * table whatever the size is, and a row that does not fit into a page makes MariaDB 10.11 end itself on a full disk.
 */
const rowBytes: Record<Engine, number> = { sqlite: 4096, postgres: 4096, mysql: 64, mariadb: 64 }

/**
 * Creates the ping of a database. It reads the database's clock first, so the time is known also while the database
 * accepts no writes or lacks a table.
 *
 * A ping every few seconds inserts a row and deletes it. The row is in the table in which most writes insert one, and has
 * a key of this process, so that processes do not wait for each other. If a process ends before it has deleted the row,
 * the cleanup does so.
 */
export function databasePing(deps: {
  engine: SqlEngine
  tables: Tables
  aside: Aside
  time: DatabaseTime
  disk: Pick<FullDisk, "check">
  rights: Pick<MissingRights, "check">
}): (waiter: Waiter) => Promise<void> {
  const { engine, tables, aside, time, disk, rights } = deps
  const readClock = databaseClock({ dialect: engine.dialect, tables })
  const { idempotencyKeys } = tables
  // Of a tenant that always exists; no call has this key.
  const key = { tenant: "default", keyHash: randomBytes(32) }
  // Random, so that it cannot be compressed.
  const answer = randomBytes(rowBytes[engine.engine] / 2).toString("hex")
  let nextWrite = Number.NEGATIVE_INFINITY
  const shape = shapeStatement(engine.dataSource)
  let pinging: Promise<void> | undefined

  async function pingOnce() {
    try {
      await time.synchronize(() => readClock({ read: aside }))
      disk.check()
      // Shows that the database accepts writes, and removes a row that was not deleted the last time.
      await aside(idempotencyKeys.delete, key)
      if (performance.now() >= nextWrite) {
        await aside(idempotencyKeys.insert, { ...key, answer, created: new Date(time.now()) }).catch(
          throwUnlessNoTenant,
        )
        await aside(idempotencyKeys.delete, key)
        nextWrite = performance.now() + writeEveryMs
      }
      await aside(shape, undefined)
      await rights.check()
    } catch (cause) {
      // On SQLite any writer locks the whole database. On the other engines this means that the whole table is locked.
      if (failsBy(cause, "locked") && !engine.locksRows) return
      throw new StoreError("DATABASE_UNAVAILABLE", "the database cannot be used", { cause })
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

/** A shard of Vitess that has been split off has only tenants of its own, and an insert that finds none has got as far as it can. */
function throwUnlessNoTenant(error: unknown): void {
  if (!failsBy(error, "no-parent")) throw error
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
