import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { run } from "@authwire/test-support/processes/server.js"
import { beforeEach, describe, expect, test } from "@jest/globals"
import { fillForeignTables, importCase } from "./foreign-tables.js"

// What an import does with rows of the tenant that the source does not have, or that it skips.
describe.each(databaseTargets())("authwire import from %s", (target) => {
  const at = importCase(target)
  const { environment, authwire, count } = at

  describe("--delete", () => {
    const ids = async (column: string, table: string) =>
      (await at.database.query(`SELECT ${column} AS id FROM ${table}`)).map(({ id }) => String(id)).sort()
    beforeEach(async () => {
      await fillForeignTables(at.source, 0, 10)
      expect((await authwire("--apply")).code).toBe(0)
      // A date that is none.
      await at.source.query("UPDATE people SET email_verified = 9000000000000000 WHERE person_id = 2")
    })

    test("keeps the rows that were skipped, and those of skipped users, as they are", async () => {
      const kept = () =>
        Promise.all([
          at.database.query("SELECT * FROM users WHERE id IN ('2', '3') ORDER BY id"),
          at.database.query("SELECT * FROM accounts WHERE provider_account_id IN ('g3', 'g4', 'g7') ORDER BY user_id"),
          at.database.query("SELECT * FROM sessions WHERE user_id IN ('2', '3') ORDER BY user_id"),
        ])
      const before = await kept()
      await at.source.query("UPDATE people SET plan = 'paid'")
      await at.source.query("UPDATE people SET email = ' PERSON.1@example.com ' WHERE person_id = 3")
      await at.source.query("UPDATE logins SET type = 'credentials' WHERE login_id = 4")
      await at.source.query("UPDATE logins SET user_id = 999 WHERE login_id = 7")
      // Rows that the source no longer has: one of a skipped user, one of another user, and a user whose rows remain.
      await at.source.query("DELETE FROM logins WHERE login_id = 2")
      await at.source.query("DELETE FROM cookies WHERE user_id = 5")
      await at.source.query("DELETE FROM people WHERE person_id = 6")
      for (const [changed, users, others] of [
        [7, 1, 2],
        [0, 0, 0],
      ]) {
        const { stdout, stderr, code } = await authwire("--apply", "--delete", "--delete-all=default", "--skip")
        expect(stdout).toMatch(new RegExp(`^users +0 +${changed} +${users}$`, "m"))
        expect(stdout).toMatch(new RegExp(`^accounts +0 +0 +${others}$`, "m"))
        expect(stdout).toMatch(new RegExp(`^sessions +0 +0 +${others}$`, "m"))
        expect(stderr).toBe(
          "every row was compared: source and target are equal, except for 9 rows of the source that were skipped\n",
        )
        expect(code).toBe(0)
      }
      expect(await kept()).toEqual(before)
      expect(await ids("id", "users")).toEqual(["0", "1", "2", "3", "4", "5", "7", "8", "9"])
      expect(await ids("provider_account_id", "accounts")).toEqual(["g0", "g1", "g3", "g4", "g5", "g7", "g8", "g9"])
      expect(await ids("user_id", "sessions")).toEqual(["0", "1", "2", "3", "4", "7", "8", "9"])
    })

    test("does not take the address of a skipped user for another user, who is skipped too", async () => {
      await at.source.query("UPDATE people SET email = 'person.2@example.com' WHERE person_id = 8")
      const { stdout, stderr, code } = await authwire("--apply", "--delete", "--delete-all=default", "--skip")
      expect(stdout).toMatch(/^taken +user 8 +the address belongs to user 2 of the tenant$/m)
      expect(stderr).toMatch(/^every row was compared: .* except for 6 rows of the source that were skipped\n$/)
      expect(code).toBe(0)
      expect(await at.database.query("SELECT email FROM users WHERE id IN ('2', '8') ORDER BY id")).toEqual([
        { email: "person.2@example.com" },
        { email: "person.8@example.com" },
      ])
    })
  })

  test("what a user that only Authwire has keeps is found before anything is written, by doctor too", async () => {
    await fillForeignTables(at.source, 0, 1500)
    const own = "a\u001b[2J\nb"
    await at.database.query(
      "INSERT INTO users (tenant, id, email, email_key, extra) VALUES ('default', ?, ?, ?, '{}')",
      [...[own, "Person.1400@example.com", "person.1400@example.com"]],
    )
    await at.database.query(
      "INSERT INTO accounts (tenant, user_id, type, provider, provider_account_id, extra) VALUES ('default', ?, 'oauth', 'github', 'g3', '{}')",
      [own],
    )
    const doctor = await run(["doctor", "--from=kysely", `--mapping=${at.folder}/mapping.json`], environment())
    for (const { stdout, stderr, code } of [doctor, await authwire(), await authwire("--apply")]) {
      expect(stdout).toMatch(/^error +1 +users +taken: they need the e-mail address or the key of another user/m)
      expect(stdout).toMatch(/^taken +user 1400 +the address belongs to user a\\u001b\[2J\\u000ab of the tenant$/m)
      expect(stdout).toMatch(/^taken +account of user 3 with github +the key belongs to user a/m)
      // That would delete the user.
      expect(stdout + stderr).not.toContain("--delete")
      expect(code).toBe(1)
    }
    expect(await count("users")).toBe(1)
    const skipped = await authwire("--apply", "--skip")
    expect(skipped.stderr).toMatch(/\nthe tenant has rows that the source does not have \(2\): they stay\. /)
    expect([await count("users"), await count("accounts"), await count("sessions")]).toEqual([1500, 1499, 1499])
    expect(await count("accounts", "provider_account_id = 'g3' AND user_id = '3'")).toBe(0)
    // Whoever wants the user to go says so.
    expect((await authwire("--apply", "--delete")).code).toBe(0)
    expect([await count("users"), await count("users", "id = '1400'")]).toEqual([1500, 1])
  })
})
