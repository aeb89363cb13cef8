import { serviceServer, testOnServer } from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import type { Later } from "@authwire/test-support/endings.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { expect } from "@jest/globals"

const postgres = serviceServer(["postgres"])

/** A database whose tables belong to its administrator, and what doctor says of it to another role and to the owner. */
async function withRole(later: Later, role: string) {
  const database = await createStoreDatabase("postgres")
  later(() => database.drop())
  const url = await createUser(database, role, "password")
  later(() => dropUser(database, role))
  const doctor = (databaseUrl: string) =>
    run(["doctor"], { AUTHWIRE_DATABASE_URL: databaseUrl, AUTH_SECRET: testSecret })
  return { database, asRole: () => doctor(url), asOwner: () => doctor(database.url) }
}

testOnServer(
  "doctor names the tables whose rows a policy may hide, the role, and what helps",
  async (later) => {
    const { database, asRole, asOwner } = await withRole(later, "the role")
    expect((await asRole()).stdout).toMatch(/^ok +row-level security +no table has it$/m)
    // One that belongs to somebody else is not among Authwire's.
    await database.query("CREATE TABLE theirs (id int)")
    for (const table of ["users", "authwire_migrations", "theirs"]) {
      await database.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`)
    }
    const { stdout, code } = await asRole()
    expect(code).toBe(1)
    const [line = ""] = /^wrong +row-level security .*$/m.exec(stdout) ?? []
    expect(line).toContain("hide rows of authwire_migrations, users from the role the role")
    const [remedy, bypass] = [/run (.*); or,/, /, as a superuser, (.*)$/].map((form) => form.exec(line)?.[1])
    expect((await asOwner()).stdout).toMatch(
      /^ok +row-level security +the role \w+ bypasses that of authwire_migrations, users$/m,
    )
    // Each remedy helps as it is printed.
    await database.query(String(bypass))
    expect((await asRole()).stdout).toMatch(/^ok +row-level security +the role the role bypasses that of/m)
    await database.query(`ALTER ROLE "the role" NOBYPASSRLS`)
    await database.query(String(remedy))
    const after = await asRole()
    expect(after.stdout).toMatch(/^ok +row-level security +no table has it$/m)
    expect(after.code).toBe(0)
  },
  postgres,
)

testOnServer(
  "a policy that applies to the owner too is found",
  async (later) => {
    const { database, asRole } = await withRole(later, "role")
    const of = "ALTER TABLE sessions"
    for (const sql of [`${of} OWNER TO role`, `${of} ENABLE ROW LEVEL SECURITY`]) await database.query(sql)
    expect((await asRole()).stdout).toMatch(/^ok +row-level security +the role role bypasses that of sessions$/m)
    await database.query(`${of} FORCE ROW LEVEL SECURITY`)
    expect((await asRole()).stdout).toMatch(/^wrong +row-level security +policies may hide rows of sessions from/m)
  },
  postgres,
)
