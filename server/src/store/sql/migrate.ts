import { MigrationExecutor, type QueryRunner } from "typeorm"
import { StoreError } from "../error.js"
import type { Database } from "./database.js"

export interface MigrationState {
  /** The number and name of its file, such as `0001-users`. */
  name: string
  /** Whether it is in the database. */
  applied: boolean
  /** Whether this version of the program has it; if not, a newer version made the tables. */
  known: boolean
}

// Another process that migrates at the same time is waited for so long, in seconds.
const lockTimeoutSeconds = 60

/** All migrations in their order. Changes nothing in the database. */
export function migrationStatus(database: Database): Promise<MigrationState[]> {
  return database.withQueryRunner(async (runner) => {
    const executor = new MigrationExecutor(database.dataSource, runner)
    const known = database.dataSource.migrations.map(nameOf)
    const applied = (await executor.getExecutedMigrations()).map(nameOf)
    return [...new Set([...known, ...applied])]
      .sort()
      .map((name) => ({ name, applied: applied.includes(name), known: known.includes(name) }))
  })
}

/** The names of the migrations that are still to be applied, in their order. Changes nothing in the database. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  return (await migrationStatus(database)).filter((state) => !state.applied).map((state) => state.name)
}

/**
 * Applies all pending migrations and returns their names. Any number of processes may do so at the same time: one works
 * and the others wait (CONFLICT after 60 seconds). In a replication group the lock holds per member: migrate on one.
 */
export function applyMigrations(database: Database): Promise<string[]> {
  return database.withQueryRunner((runner) =>
    withMigrationLock(runner, async () => {
      const executor = new MigrationExecutor(database.dataSource, runner)
      executor.transaction = "none"
      return (await executor.executePendingMigrations()).map(nameOf)
    }),
  )
}

/** Reverts the last migration, with all that its tables hold; returns its name, or undefined when there is none. */
export function revertLastMigration(database: Database): Promise<string | undefined> {
  return database.withQueryRunner((runner) =>
    withMigrationLock(runner, async () => {
      const executor = new MigrationExecutor(database.dataSource, runner)
      executor.transaction = "none"
      const before = (await executor.getExecutedMigrations()).map(nameOf)
      await executor.undoLastMigration()
      const after = (await executor.getExecutedMigrations()).map(nameOf)
      return before.find((name) => !after.includes(name))
    }),
  )
}

/** Lets one process at a time through. On SQLite the lock is a transaction, and a migration that fails leaves nothing. */
async function withMigrationLock<T>(runner: QueryRunner, work: () => Promise<T>): Promise<T> {
  const { type } = runner.dataSource.options
  if (type === "better-sqlite3") {
    await runner.query("BEGIN IMMEDIATE")
    try {
      const result = await work()
      await runner.query("COMMIT")
      return result
    } catch (error) {
      await runner.query("ROLLBACK")
      throw error
    }
  }
  // Changing a large table takes as long as it takes.
  if (type === "mariadb") await runner.query("SET SESSION max_statement_time = 0")
  const lock = "LEFT(CONCAT('authwire.', DATABASE()), 64)"
  const [row] = await runner.query(`SELECT GET_LOCK(${lock}, ${lockTimeoutSeconds}) AS got`)
  if (Number(row.got) !== 1) throw new StoreError("CONFLICT", "another process is changing the tables")
  try {
    return await work()
  } finally {
    await runner.query(`SELECT RELEASE_LOCK(${lock})`).catch(() => {})
  }
}

function nameOf({ name = "" }: { name?: string }): string {
  return name.replace(/-\d{13}$/, "")
}
