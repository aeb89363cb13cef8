import { randomBytes } from "node:crypto"
import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { run } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"
import { expires, fillForeignTables, importCase } from "./foreign-tables.js"

describe.each(databaseTargets())("authwire export and other commands that only read, %s", (target) => {
  const at = importCase(target)
  const { environment, importing, authwire } = at

  test("export prints every row, and secrets only on request; another database can import them", async () => {
    await fillForeignTables(at.source, 0, 620)
    await at.source.query("ALTER TABLE people ADD COLUMN password_hash varchar(64)")
    await at.source.query("UPDATE people SET password_hash = 'a-hash-of-forty-characters-2b-12-xxxxxxxx'")
    await authwire("--apply")
    const lines = async (...args: string[]) =>
      (await run(["export", ...args], environment())).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    const rows = await lines()
    expect(rows).toHaveLength(3 * 620 + 1)
    expect(rows.find(({ table, providerAccountId }) => table === "accounts" && providerAccountId === "g0")).toEqual({
      table: "accounts",
      userId: "0",
      type: "oauth",
      provider: "github",
      providerAccountId: "g0",
      expires_at: expires,
      created: expect.stringMatching(/^\d{4}-.*Z$/),
      updated: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(JSON.stringify(rows)).not.toMatch(/gho_|a-hash|password_hash/)
    const complete = await lines("--with-secrets")
    expect(complete.filter(({ access_token }) => access_token?.startsWith("gho_"))).toHaveLength(620)
    const isHash = /^a-hash-of-forty-characters-/
    expect(complete.filter(({ privateExtra }) => isHash.test(privateExtra?.password_hash))).toHaveLength(620)

    const other = await createDatabase("sqlite")
    const env = { ...environment(), AUTHWIRE_DATABASE_URL: other.url, AUTHWIRE_SOURCE_URL: at.database.url }
    await migrate(other)
    const { code, stderr } = await run(["import", "--from=authwire", "--apply"], env)
    expect(stderr).toBe("every row was compared: source and target are equal\n")
    expect(code).toBe(0)
    expect((await run(["export", "--with-secrets"], env)).stdout).toBe(
      (await run(["export", "--with-secrets"], environment())).stdout,
    )
    await other.drop()
  })

  if (target !== "sqlite") {
    test("commands that only read, and an import from Authwire, need no right but to read", async () => {
      await fillForeignTables(at.source, 0, 10)
      await authwire("--apply")
      const name = `reader_${randomBytes(6).toString("hex")}`
      const url = await createUser(at.database, name, "password", "SELECT")
      const { AUTHWIRE_SOURCE_URL: source, ...env } = { ...environment(), AUTHWIRE_DATABASE_URL: url }
      const dryRun = [...importing(), `--url=${source}`]
      for (const command of [["migrate", "status"], ["export"], dryRun]) {
        expect(await run(command, env)).toMatchObject({ code: 0 })
      }
      // It reads all that it shows, and says that the service could not work as this user.
      const { stdout } = await run(["doctor"], env)
      expect(stdout.match(/^wrong .*/gm)).toEqual([expect.stringMatching(/^wrong +rights +this user lacks INSERT on /)])
      const other = await createDatabase("sqlite")
      await migrate(other)
      const args = ["import", "--from=authwire", `--url=${url}`, `--database-url=${other.url}`, "--apply"]
      expect(await run(args, environment())).toMatchObject({ code: 0 })
      expect(await other.query("SELECT count(*) AS n FROM users")).toEqual([{ n: 10 }])
      await other.drop()
      await dropUser(at.database, name)
    })
  }
})
