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
