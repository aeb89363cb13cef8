import type { Database } from "../store/sql/index.js"
import type { Diagnosis } from "./finding.js"

/**
 * Names the tables of Authwire in which PostgreSQL applies row-level security. Where a policy applies to the role of the
 * service, PostgreSQL refuses its statements: otherwise hidden rows would seem to be missing. Other databases have none.
 */
export async function diagnoseRowSecurity({ dataSource, withQueryRunner }: Database): Promise<Diagnosis[]> {
  const { type, migrationsTableName } = dataSource.options
  if (type !== "postgres") return []
  const names = [...dataSource.entityMetadatas.map(({ tableName }) => tableName), migrationsTableName]
  const secured: { name: string; role: string; applies: boolean }[] = await withQueryRunner((runner) =>
    runner.query(
      `SELECT c.relname AS name, current_user AS role, row_security_active(c.oid) AS applies
         FROM unnest($1::text[]) AS t (name) JOIN pg_class c ON c.oid = to_regclass(quote_ident(t.name))
         WHERE c.relrowsecurity ORDER BY c.relname`,
      [names],
    ),
  )
  const what = "row-level security"
  const [first] = secured
  if (first === undefined) return [{ state: "ok", what, detail: "no table has it" }]
  const list = (those: typeof secured) => those.map(({ name }) => name).join(", ")
  const hidden = secured.filter(({ applies }) => applies)
  if (hidden.length === 0) {
    return [{ state: "ok", what, detail: `the role ${first.role} bypasses that of ${list(secured)}` }]
  }
  const remedy = hidden.map(({ name }) => `ALTER TABLE ${name} DISABLE ROW LEVEL SECURITY`).join("; ")
  const detail =
    `policies may hide rows of ${list(hidden)} from the role ${first.role}, so PostgreSQL refuses its statements (42501): ` +
    `run ${remedy}; or, as a superuser, ALTER ROLE "${first.role.replaceAll('"', '""')}" BYPASSRLS`
  return [{ state: "wrong", what, detail }]
}
