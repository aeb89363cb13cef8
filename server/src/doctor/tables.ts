import { type Database, examinedRows, lostRows, orphans, schemaFaults } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

/** How many findings of one kind are shown. */
const shown = 5

const listOf = (found: readonly string[]): string =>
  [...found.slice(0, shown), ...(found.length > shown ? [`and ${found.length - shown} more`] : [])].join("; ")

/** Checks whether this user has the rights that the service uses, on all tables. */
export async function diagnoseRights({ withQueryRunner, dialect }: Database) {
  const what = "rights"
  const missing = await withQueryRunner(dialect.missingRights)
  // MariaDB shows no foreign keys to a user who may only read.
  const hidden = new Set(missing.map(({ on }) => on))
  const grants = missing.map(({ right, on }) => `${right} on ${on}`)
  const diagnosis: Diagnosis =
    grants.length === 0
      ? { state: "ok", what, detail: "this user may read and write all tables" }
      : {
          state: "wrong",
          what,
          detail: `this user lacks ${listOf(grants)}: calls that need them fail; give them to the user of --database-url, on a server with GRANT`,
        }
  return { hidden, diagnosis }
}

/** Compares the tables with those that the migrations make. */
export async function diagnoseSchema(database: Database, hidden: ReadonlySet<string>): Promise<Diagnosis> {
  const what = "tables"
  const faults = await schemaFaults(database, hidden)
  const those = hidden.size === 0 ? "they" : "those for which this user has all rights"
  if (faults.length === 0) return { state: "ok", what, detail: `${those} are those of the migrations` }
  const advice =
    "somebody has changed the tables, or a backup was not restored completely." +
    " Restore it into an empty database, or change the tables so that they are as authwire migrate up makes them"
  return { state: "wrong", what, detail: `${listOf(faults)}: ${advice}` }
}

/** Looks for what a backup leaves that was restored in part. Requires the tables of this version. */
export async function diagnoseRows(database: Database): Promise<Diagnosis> {
  const what = "rows"
  const found = [
    ...(await lostRows(database)).map((row) => `the row ${row} is missing`),
    ...(await orphans(database)).map(
      ({ table, of, count }) => `${count} or more rows of ${table} have no row in ${of}`,
    ),
  ]
  if (found.length === 0) {
    const detail = `the first and last ${examinedRows} of each table have the user and the tenant to which they belong`
    return { state: "ok", what, detail }
  }
  const advice =
    "a backup was not restored completely: restore it into an empty database, or delete what belongs to nobody"
  return { state: "wrong", what, detail: `${listOf(found)}: ${advice}` }
}
