import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createDatabase, type DatabaseTarget, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterEach, beforeEach } from "@jest/globals"

/** The number of rows of an INSERT. */
const chunk = 500

/** Creates tables in the style of hand-written applications: other names, integers as ids, seconds as dates. */
async function makeForeignTables({ query, target }: TestDatabase): Promise<void> {
  const text = target === "sqlite" ? "text" : "varchar(255)"
  await query(
    `CREATE TABLE people (person_id bigint PRIMARY KEY, email ${text}, email_verified bigint, name ${text}, plan ${text})`,
  )
  await query(
    `CREATE TABLE logins (login_id bigint PRIMARY KEY, user_id bigint NOT NULL, type ${text} NOT NULL, provider ${text} NOT NULL,
       provider_account_id ${text} NOT NULL, access_token ${text}, expires_at bigint)`,
  )
  await query(
    `CREATE TABLE cookies (session_token ${text} PRIMARY KEY, user_id bigint NOT NULL, expires bigint NOT NULL)`,
  )
}

const foreignMapping = {
  tables: { users: "people", accounts: "logins", sessions: "cookies" },
  columns: { users: { id: "person_id" } },
}

export const expires = 1_893_456_000

/** Returns the session token of a person. */
export const tokenOf = (id: number) => createHash("sha256").update(`person ${id}`).digest("hex")

/** Fills the tables with people who each have a login and a cookie. */
export async function fillForeignTables({ query }: TestDatabase, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += chunk) {
    const ids = Array.from({ length: Math.min(chunk, to - start) }, (_, index) => start + index)
    const insert = (table: string, row: (id: number) => unknown[]) => {
      const rows = ids.map(row)
      const marks = rows.map((values) => `(${values.map(() => "?").join(", ")})`).join(", ")
      return query(`INSERT INTO ${table} VALUES ${marks}`, rows.flat())
    }
    await insert("people", (id) => [id, `person.${id}@example.com`, expires, `Person ${id}`, "free"])
    await insert("logins", (id) => [id, id, "oauth", "github", `g${id}`, `gho_${id}`, expires])
    await insert("cookies", (id) => [tokenOf(id), id, expires])
  }
}

/** Creates databases for each test: one with these tables, and one of Authwire. Returns them and the command. */
export function importCase(target: DatabaseTarget) {
  let folder = ""
  let source: TestDatabase
  let database: TestDatabase
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "authwire-import-"))
    writeFileSync(join(folder, "mapping.json"), JSON.stringify(foreignMapping))
    source = await createDatabase(target)
    database = await createDatabase(target)
    await makeForeignTables(source)
    await migrate(database)
  })
  afterEach(async () => {
    await source.drop()
    await database.drop()
    rmSync(folder, { recursive: true })
  })
  const environment = () => ({
    AUTHWIRE_DATABASE_URL: database.url,
    AUTHWIRE_SOURCE_URL: source.url,
    AUTH_SECRET: testSecret,
  })
  const importing = () => ["import", "--from=kysely", `--mapping=${folder}/mapping.json`]
  return {
    get folder() {
      return folder
    },
    get source() {
      return source
    },
    get database() {
      return database
    },
    environment,
    importing,
    authwire: (...args: string[]) => run([...importing(), ...args], environment()),
    count: async (table: string, where = "1 = 1") =>
      Number((await database.query(`SELECT COUNT(*) AS n FROM ${table} WHERE ${where}`))[0]?.n),
  }
}
