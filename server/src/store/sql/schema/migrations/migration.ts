import type { MigrationInterface, QueryRunner } from "typeorm"
import type { Compatibility } from "./compatibility.js"

/** What no statement can do. */
type Work = (runner: QueryRunner) => Promise<void>

type Steps = string | readonly string[] | Work

/** A column or an index of a table. */
type Part = { table: string; column: string } | { table: string; index: string }

/**
 * One change of the tables. On MySQL and MariaDB a statement that changes tables commits at once, so each direction is
 * one statement there: it is done or it is not. That it was done is noted by another statement, and a process may end
 * between the two: so a statement runs only where `makes` says that it was not done yet. On SQLite and PostgreSQL all steps
 * are one transaction. A migration that was released is never edited; the next one follows.
 */
export type MigrationSteps = Change & ({ makes: Part } | { server: Work; down: { server: Work } })

interface Change {
  /** The number and name of the file: `0001-tables`. */
  name: string
  /** What it means for replicas of the version before it, which may still serve. */
  lastVersion: Compatibility
  /**
   * For MySQL and MariaDB: a statement, or work of which nothing is seen before its last statement, or work that goes on
   * from where it ended and of which every step leaves tables that the last version works on. Work is run again when the
   * process ended before it was noted.
   */
  server: string | Work
  sqlite: Steps
  postgres: Steps
  /** Back again; a single statement is for all of them. */
  down: string | { server: string | Work; sqlite: Steps; postgres: Steps }
  /** What is there on MySQL and MariaDB once it is applied, and goes last when it is taken back. */
  makes?: Part | undefined
}

/** Makes the class that TypeORM wants of each migration. */
export function migration({
  name,
  lastVersion,
  down,
  makes,
  ...up
}: MigrationSteps): new () => MigrationInterface & Pick<MigrationSteps, "lastVersion"> {
  const back = typeof down === "string" ? { server: down, sqlite: down, postgres: down } : down
  return class {
    // TypeORM sorts by the 13 digits at the end, where it expects a time.
    name = `${name}-${name.slice(0, 4).padStart(13, "0")}`

    lastVersion = lastVersion

    up = (runner: QueryRunner) => run(runner, "up", { ...up, makes })

    down = (runner: QueryRunner) => run(runner, "down", { ...back, makes })
  }
}

/** Whether a server of MySQL or MariaDB has it. */
export async function isThere(runner: QueryRunner, part: Part): Promise<boolean> {
  const [view, kind, name] = "column" in part ? ["columns", "column", part.column] : ["statistics", "index", part.index]
  const rows = await runner.query(
    `SELECT 1 FROM information_schema.${view}
     WHERE table_schema = DATABASE() AND table_name = ? AND ${kind}_name = ?`,
    [part.table, name],
  )
  return rows.length > 0
}

/**
 * Creates tables on MySQL or MariaDB, unless they are there already. The servers create one table in a statement, but rename
 * all of them in one. So the tables are made under names of their own first: until the last statement there is nothing that
 * anybody sees, and a process that ends before it leaves only what the next one drops. It fails where somebody else has a table
 * of one of the names.
 *
 * @param tables their names; those that refer to others come before them.
 * @param makes what is there of them when they are.
 * @param statements create each as `authwire_new_` with its name, and insert the first rows.
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
  const { type } = runner.dataSource.options
  const isServer = type === "mysql" || type === "mariadb"
  const steps = isServer ? server : type === "postgres" ? postgres : sqlite
  if (typeof steps === "function") return steps(runner)
  if (isServer && makes !== undefined && (await isThere(runner, makes)) === (direction === "up")) return
  for (const statement of [steps].flat()) await runner.query(statement)
}
