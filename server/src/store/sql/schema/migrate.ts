import { MigrationExecutor, type MigrationInterface } from "typeorm"
import type { Database } from "../database.js"
import type { Compatibility } from "./migrations/compatibility.js"

export interface MigrationState {
  /** The number and name of its file, such as `0001-tables`. */
  name: string
  /** Whether it is in the database. */
  applied: boolean
  /** Whether this version of the program has it; if not, a newer version made the tables. */
  known: boolean
  /** Whether the version before it works on the tables that it leaves. Undefined for one that is not known. */
  lastVersion?: Compatibility | undefined
}

/** All migrations in their order. Changes nothing in the database. */
export function migrationStatus(database: Database): Promise<MigrationState[]> {
  return database.withQueryRunner(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    const migrations: (MigrationInterface & { lastVersion?: Compatibility })[] = database.dataSource.migrations
    const known = new Map(migrations.map((migration) => [nameOf(migration), migration.lastVersion]))
    const applied = (await executor.getExecutedMigrations()).map(nameOf)
    return [...new Set([...known.keys(), ...applied])].sort().map((name) => ({
      name,
      applied: applied.includes(name),
      known: known.has(name),
      lastVersion: known.get(name),
    }))
  })
}

/** The names of the migrations that are still to be applied, in their order. Changes nothing in the database. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  return (await migrationStatus(database)).filter((state) => !state.applied).map((state) => state.name)
}

/**
 * Applies all pending migrations and returns their names. Any number of processes may do so at the same time: one works
 * and the others wait (CONFLICT when that takes too long), also on different members of a cluster. Where a migration fails,
 * those before it stay applied; on SQLite none does.
 */
export function applyMigrations(database: Database): Promise<string[]> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = transactionOf(database)
    return (await executor.executePendingMigrations()).map(nameOf)
  })
}

/** Reverts the last migration, with all that its tables hold; returns its name, or undefined when there is none. */
export function revertLastMigration(database: Database): Promise<string | undefined> {
  return database.withSchemaLock(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    executor.transaction = transactionOf(database)
    const [last] = await executor.getExecutedMigrations()
    if (last === undefined) return undefined
    await executor.undoLastMigration()
    return nameOf(last)
  })
}

/** PostgreSQL changes tables in transactions. The lock of SQLite is one, and the other servers commit each change at once. */
function transactionOf({ engine }: Database): "each" | "none" {
  return engine === "postgres" ? "each" : "none"
}

function nameOf({ name = "" }: { name?: string }): string {
  return name.replace(/-\d{13}$/, "")
}
