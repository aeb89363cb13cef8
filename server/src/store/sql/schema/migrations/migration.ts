import type { MigrationInterface, QueryRunner } from "typeorm"

/** The compatibility of a migration with the previous version of the program. */
export interface Compatibility {
  /**
   * Whether the previous version works on the tables after the migration, so that both versions can run at the same
   * time.
   */
  compatible: boolean
  /** The reason, for operators. */
  reason: string
}

/** Steps of a migration that need more than a list of statements. */
type Work = (runner: QueryRunner) => Promise<void>

type Steps = string | readonly string[] | Work

/** A column or an index of a table. */
type Part = { table: string; column: string } | { table: string; index: string }

/**
 * The steps of one migration. On MySQL and MariaDB a statement that changes tables commits at once. So each direction
 * is a single statement there, which is done completely or not at all. A second statement records that it was done, and
 * the process may end between the two. So a statement runs only if `makes` shows that it has not been done yet. On
 * SQLite and PostgreSQL all steps are one transaction. A released migration is never edited; another migration follows
 * it.
 */
export type MigrationSteps = Change & ({ makes: Part } | { server: Work; down: { server: Work } })

interface Change {
  /** The number and name of the file, such as `0001-initial`. */
  name: string
  /** What the migration means for replicas of the previous version, which may still run. */
  previousVersion: Compatibility
  /**
   * The steps for MySQL and MariaDB: a statement, or work. Work is run again if the process ended before the migration
   * was recorded. So either the effects of work are invisible before its last statement, or work continues where it
   * stopped, and each of its steps leaves tables on which the previous version works.
   */
  server: string | Work
  sqlite: Steps
  postgres: Steps
  /** The steps that revert the migration. A single statement is used for all engines. */
  down: string | { server: string | Work; sqlite: Steps; postgres: Steps }
  /** A part that exists on MySQL and MariaDB once the migration is applied, and that the revert removes last. */
  makes?: Part | undefined
}

/** Creates the class that TypeORM requires for each migration. */
export function migration({
  name,
  previousVersion,
  down,
  makes,
  ...up
}: MigrationSteps): new () => MigrationInterface & Pick<MigrationSteps, "previousVersion"> {
  const back = typeof down === "string" ? { server: down, sqlite: down, postgres: down } : down
  return class {
    // TypeORM sorts by the 13 digits at the end, where it expects a timestamp.
    name = `${name}-${name.slice(0, 4).padStart(13, "0")}`

    previousVersion = previousVersion

    up = (runner: QueryRunner) => run(runner, "up", { ...up, makes })

    down = (runner: QueryRunner) => run(runner, "down", { ...back, makes })
  }
}

/** Returns whether the part exists on a MySQL or MariaDB server. */
async function isThere(runner: QueryRunner, part: Part): Promise<boolean> {
  const [view, kind, name] = "column" in part ? ["columns", "column", part.column] : ["statistics", "index", part.index]
  const rows = await runner.query(
    `SELECT 1 FROM information_schema.${view}
     WHERE table_schema = DATABASE() AND table_name = ? AND ${kind}_name = ?`,
    [part.table, name],
  )
  return rows.length > 0
}

/**
 * Creates tables on MySQL or MariaDB, unless they exist already. These servers create one table per statement, but they
 * can rename all tables in one statement. So the tables are created under temporary names first. Before the last
 * statement nothing is visible, and a process that ends early leaves only tables that the next attempt drops. Fails if
 * a table of another application has one of the names.
 *
 * @param tables the names; a table that references others comes before them.
 * @param makes a part of the tables that shows whether they exist.
 * @param statements create each table as `authwire_new_` with its name, and insert the first rows.
 */
export async function createTables(
  runner: QueryRunner,
  { tables, makes, statements }: { tables: readonly string[]; makes: Part; statements: readonly string[] },
): Promise<void> {
  if (await isThere(runner, makes)) return
  const dropNew = `DROP TABLE IF EXISTS ${tables.map((name) => `authwire_new_${name}`).join(", ")}`
  await runner.query(dropNew)
  try {
    for (const statement of statements) await runner.query(statement)
    await runner.query(`RENAME TABLE ${tables.map((name) => `authwire_new_${name} TO ${name}`).join(", ")}`)
  } catch (error) {
    await runner.query(dropNew).catch(() => {})
    throw error
  }
}

async function run(
  runner: QueryRunner,
  direction: "up" | "down",
  { server, sqlite, postgres, makes }: Pick<Change, "server" | "sqlite" | "postgres" | "makes">,
): Promise<void> {
  const ofServer = { steps: server, commitsAtOnce: true }
  const own: Readonly<Record<string, { steps: Steps; commitsAtOnce: boolean }>> = {
    mysql: ofServer,
    mariadb: ofServer,
    postgres: { steps: postgres, commitsAtOnce: false },
  }
  const { steps, commitsAtOnce } = own[runner.dataSource.options.type] ?? { steps: sqlite, commitsAtOnce: false }
  if (typeof steps === "function") return steps(runner)
  if (commitsAtOnce && makes !== undefined && (await isThere(runner, makes)) === (direction === "up")) return
  for (const statement of [steps].flat()) await runner.query(statement)
}

/** Returns the number and name of the file of a migration, from the name under which TypeORM records it. */
export function nameOf({ name = "" }: { name?: string }): string {
  return name.replace(/-\d{13}$/, "")
}
