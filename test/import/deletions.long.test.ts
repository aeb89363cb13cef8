import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { run } from "@authwire/test-support/processes/server.js"
import { describe, expect, test } from "@jest/globals"
import { fillForeignTables, importCase } from "./foreign-tables.js"

describe.each(databaseTargets())("authwire import --delete from %s", (target) => {
  const at = importCase(target)
  const { authwire, count } = at
  const counts = async () => [await count("users"), await count("accounts"), await count("sessions")]

  /** Copies people, and then takes some of them, with their logins and cookies, from the source. */
  async function without(ids: string, people = 30) {
    await fillForeignTables(at.source, 0, people)
    expect((await authwire("--apply")).code).toBe(0)
    for (const table of ["cookies WHERE user_id", "logins WHERE user_id", "people WHERE person_id"]) {
      await at.source.query(`DELETE FROM ${table} ${ids}`)
    }
  }

  test("deletes no more than a tenth of a table, unless it is told the name of the tenant, and else writes nothing", async () => {
    await without("< 4")
    await at.source.query("UPDATE people SET name = 'Changed' WHERE person_id = 5")
    await fillForeignTables(at.source, 30, 31)
    const of = "27 in the source, 30 in the tenant, 4 to delete"
    for (const options of [["--apply"], []]) {
      const { stderr, code } = await authwire("--delete", ...options)
      expect(stderr).toBe(
        `--delete would delete more than a tenth, or all, of users (${of}), accounts (${of}), sessions (${of}), not counting ` +
          "what has expired: if the source shows all that it has, add --delete-all default; nothing was written\n",
      )
      expect(code).toBe(1)
    }
    expect(await counts()).toEqual([30, 30, 30])
    expect(await count("users", "name = 'Changed'")).toBe(0)
    const other = await authwire("--apply", "--delete", "--delete-all=acme")
    expect(other.stderr).toContain(
      "--delete-all: must be the name of the tenant that gets the data (--tenant), which is default",
    )
    expect((await authwire("--apply", "--delete-all=default")).stderr).toContain("--delete-all: needs --delete")
    expect(await counts()).toEqual([30, 30, 30])
    const told = await authwire("--apply", "--delete", "--delete-all=default")
    expect(told.stderr).toBe("every row was compared: source and target are equal\n")
    expect(told.code).toBe(0)
    expect(await counts()).toEqual([27, 27, 27])
  })

  test("deletes a tenth of a table", async () => {
    await without("< 3")
    expect((await authwire("--apply", "--delete")).code).toBe(0)
    expect(await counts()).toEqual([27, 27, 27])
  })

  test("does not take an empty source for one whose rows were all deleted", async () => {
    await without(">= 0")
    const { stdout, stderr, code } = await authwire("--apply", "--delete")
    expect(stdout).toMatch(/^note: the source shows no users: /m)
    expect(stderr).toContain("users (0 in the source, 30 in the tenant, 30 to delete)")
    expect(code).toBe(1)
    expect(await counts()).toEqual([30, 30, 30])
  })

  test("deletes all sessions that have expired, but not the only one that has not", async () => {
    await fillForeignTables(at.source, 0, 20)
    await at.source.query("UPDATE cookies SET expires = 1577836800")
    expect((await authwire("--apply")).code).toBe(0)
    await at.source.query("DELETE FROM cookies WHERE user_id > 0")
    expect((await authwire("--apply", "--delete")).code).toBe(0)
    expect(await count("sessions")).toBe(1)
    await at.source.query("UPDATE cookies SET expires = 1893456000")
    expect((await authwire("--apply")).code).toBe(0)
    await at.source.query("DELETE FROM cookies")
    const { stderr, code } = await authwire("--apply", "--delete")
    expect(stderr).toContain("all, of sessions (0 in the source, 1 in the tenant, 1 to delete)")
    expect(code).toBe(1)
    expect(await count("sessions")).toBe(1)
  })

  test("deletes nothing for a view, which may leave rows out, and says of each run that it is one", async () => {
    await fillForeignTables(at.source, 0, 30)
    await at.source.query("ALTER TABLE people RENAME TO all_people")
    await at.source.query("CREATE VIEW people AS SELECT * FROM all_people")
    const applied = await authwire("--apply")
    expect(applied.stdout).toMatch(/^note: people is a view: it may not show every row$/m)
    expect(applied.code).toBe(0)
    await at.source.query("DROP VIEW people")
    await at.source.query("CREATE VIEW people AS SELECT * FROM all_people WHERE person_id <> 7")
    const { stderr, code } = await authwire("--apply", "--delete")
    expect(stderr).toContain(
      "--delete: people is a view: it may not show every row: name a source that shows every row, or add --delete-all default",
    )
    expect(code).toBe(1)
    expect(await counts()).toEqual([30, 30, 30])
    expect((await authwire("--apply", "--delete", "--delete-all=default")).code).toBe(0)
    expect(await counts()).toEqual([29, 29, 29])
  })

  if (target === "postgres") {
    test("deletes nothing where a policy of row-level security hides the rows of the source", async () => {
      await without("< 0")
      const url = await createUser(at.source, "reader", "password", "SELECT")
      await at.source.query("ALTER TABLE people ENABLE ROW LEVEL SECURITY")
      const asReader = { ...at.environment(), AUTHWIRE_SOURCE_URL: url }
      const told = ["--apply", "--delete", "--delete-all=default"]
      const { stderr, code } = await run([...at.importing(), ...told], asReader)
      await dropUser(at.source, "reader")
      expect(stderr).toContain("row-level security")
      expect(code).toBe(1)
      expect(await counts()).toEqual([30, 30, 30])
    })
  }

  test("does not take a database of Authwire without the tenant for a tenant without rows", async () => {
    await without("< 0")
    const acme = { ...at.environment(), AUTHWIRE_SOURCE_URL: at.database.url, AUTHWIRE_DATABASE_URL: at.source.url }
    expect((await run(["migrate", "up"], acme)).code).toBe(0)
    expect((await run(["tenants", "create", "acme"], acme)).code).toBe(0)
    const { stderr, code } = await run(["import", "--from=authwire", "--tenant=acme", "--apply", "--delete"], acme)
    expect(stderr).toContain("--url: there is no tenant acme")
    expect(code).toBe(1)
  })
})
