import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, databaseTargets } from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { beforeEach, describe, expect, test } from "@jest/globals"
import { expires, fillForeignTables, importCase, tokenOf } from "./foreign-tables.js"

const command = fileURLToPath(new URL("../../server/bin/authwire.js", import.meta.url))

describe.each(databaseTargets())("authwire import from %s", (target) => {
  const at = importCase(target)
  const { environment, importing, authwire, count } = at

  test("killed twice during its run and run again, it loses and duplicates nothing", async () => {
    const people = 8000
    await fillForeignTables(at.source, 0, people)
    for (const enough of [1000, 4000]) {
      const child: ChildProcess = spawn(process.execPath, [command, ...importing(), "--apply"], {
        env: { PATH: process.env.PATH, ...environment() },
        stdio: "ignore",
      })
      const ended = once(child, "exit")
      await until(async () => child.exitCode !== null || (await count("users")) >= enough, 60_000)
      child.kill("SIGKILL")
      expect(await ended).toEqual([null, "SIGKILL"])
      expect(await count("users")).toBeLessThan(people)
    }
    const kept = await count("users")
    const { code, stdout, stderr } = await authwire("--apply")
    expect(stderr).toBe("every row was compared: source and target are equal\n")
    expect(code).toBe(0)
    // Existing rows are unchanged.
    expect(stdout).toMatch(new RegExp(`^users +${people - kept} +0 +0$`, "m"))
    for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(people)
    const server = await startServer({ databaseUrl: at.database.url })
    const client = createAuthwireClient({ url: server.grpcUrl })
    for (const id of [0, 999, 1000, 4321, people - 1]) {
      expect(await client.adapter.getSessionAndUser(tokenOf(id))).toEqual({
        session: { sessionToken: tokenOf(id), userId: String(id), expires: new Date(expires * 1000) },
        user: {
          id: String(id),
          email: `person.${id}@example.com`,
          emailVerified: new Date(expires * 1000),
          name: `Person ${id}`,
          plan: "free",
        },
      })
      expect(await client.adapter.getAccount(`g${id}`, "github")).toEqual({
        userId: String(id),
        type: "oauth",
        provider: "github",
        providerAccountId: `g${id}`,
        access_token: `gho_${id}`,
        expires_at: expires,
        login_id: id,
      })
    }
    client.close()
    await server.stop()
  }, 120_000)

  test("a second run applies changes: new, changed and deleted rows, and addresses that moved between users", async () => {
    await fillForeignTables(at.source, 0, 700)
    expect((await authwire("--apply")).code).toBe(0)
    await fillForeignTables(at.source, 700, 710)
    await at.source.query("UPDATE people SET name = 'Changed' WHERE person_id = 5")
    await at.source.query("UPDATE logins SET access_token = 'new', user_id = 7 WHERE login_id = 6")
    await at.source.query("UPDATE people SET email = 'none' WHERE person_id = 20")
    await at.source.query("UPDATE people SET email = 'person.20@example.com' WHERE person_id = 10")
    await at.source.query("UPDATE people SET email = 'person.10@example.com' WHERE person_id = 20")
    for (const table of ["cookies WHERE user_id", "logins WHERE user_id", "people WHERE person_id"]) {
      await at.source.query(`DELETE FROM ${table} = 3`)
    }
    // A dry run tells what would happen to the tenant.
    for (const [options, last] of [
      [["--delete"], "to delete"],
      [[], "only in Authwire"],
    ] as const) {
      const dry = await authwire(...options)
      expect(dry.stdout).toMatch(new RegExp(`^ +to add +to change +${last}\nusers +10 +3 +1$`, "m"))
      expect(dry.code).toBe(0)
    }
    expect(await count("users")).toBe(700)
    const kept = await authwire("--apply")
    expect(kept.stdout).toMatch(/^users +10 +3 +0$/m)
    expect(kept.stdout).toMatch(/^accounts +10 +1 +0$/m)
    expect(kept.stdout).toMatch(/^users +0 +0 +1$/m)
    expect(kept.stderr).toMatch(
      /^the tenant has rows that the source does not have: they stay\. --delete deletes them, /,
    )
    expect(kept.code).toBe(1)
    const deleted = await authwire("--apply", "--delete")
    expect(deleted.stdout).toMatch(/^users +0 +0 +1$/m)
    expect(deleted.stderr).toBe("every row was compared: source and target are equal\n")
    expect(deleted.code).toBe(0)
    for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(709)
  })

  if (target === "postgres") {
    test("lists stay lists, with nested lists and nulls, and bytes become Base64", async () => {
      await fillForeignTables(at.source, 0, 1)
      await at.source.query(`ALTER TABLE people ADD COLUMN roles text[], ADD COLUMN "Levels" integer[],
        ADD COLUMN days date[], ADD COLUMN badge bytea, ADD COLUMN badges bytea[]`)
      await at.source.query(`UPDATE people SET roles = '{admin,"a \\"user\\", {too}","NULL",NULL,""}',
        "Levels" = '{{1,2},{NULL,4}}', days = '[0:0]={2026-03-29}', badge = '\\x6869ff', badges = '{"\\\\x6869ff",NULL}'`)
      await at.source.query("ALTER TABLE logins ADD COLUMN authorization_details jsonb[]")
      await at.source.query(`UPDATE logins SET authorization_details = ARRAY['{"type": "a"}'::jsonb]`)
      expect((await authwire("--apply")).code).toBe(0)
      const [user] = await at.database.query("SELECT extra FROM users")
      expect(JSON.parse(String(user?.extra))).toEqual({
        plan: "free",
        roles: ["admin", 'a "user", {too}', "NULL", null, ""],
        Levels: [
          [1, 2],
          [null, 4],
        ],
        days: ["2026-03-29T00:00:00.000Z"],
        badge: "aGn/",
        badges: ["aGn/", null],
      })
      const [account] = await at.database.query("SELECT authorization_details AS details FROM accounts")
      expect(JSON.parse(String(account?.details))).toEqual([{ type: "a" }])
    })
  }

  test("the dry run lists errors without addresses and tokens, and errors stop the import", async () => {
    await fillForeignTables(at.source, 0, 20)
    await at.source.query("UPDATE people SET email = ' PERSON.1@example.com ' WHERE person_id = 2")
    await at.source.query("UPDATE logins SET provider_account_id = 'g4' WHERE login_id = 5")
    await at.source.query("UPDATE logins SET type = 'credentials' WHERE login_id = 6")
    await at.source.query("UPDATE cookies SET user_id = 999 WHERE user_id = 7")
    await at.source.query("UPDATE people SET email = NULL WHERE person_id = 8")
    await at.source.query("DELETE FROM logins WHERE user_id = 8")
    const report = join(at.folder, "report.jsonl")
    const { AUTHWIRE_SOURCE_URL: url, ...others } = environment()
    const dry = await run([...importing(), `--url=${url}`, `--report=${report}`], others)
    expect(dry.code).toBe(1)
    expect(dry.stderr).toMatch(/^3 rows have errors: .*--skip; nothing was written\n$/)
    const lines = readFileSync(report, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    const [conversion] = lines.filter(({ kind }) => kind === "conversion")
    const example = `user 0: ${expires} → 2030-01-01T00:00:00.000Z`
    const inDates = { table: "users", property: "emailVerified", what: "number → date", count: 20, example }
    expect(conversion).toEqual({ kind: "conversion", ...inDates })
    expect(dry.stdout).toMatch(new RegExp(`^20 +users +emailVerified: number → date +${example}$`, "m"))
    const findings = lines.filter(({ kind }) => kind !== "conversion")
    expect(findings.map(({ kind, table, row }) => [kind, table, row.replace(/, SHA.*/, "")]).sort()).toEqual([
      ["address-collision", "users", "user 2"],
      ["cannot-sign-in", "users", "user 8"],
      ["duplicate", "accounts", "account of user 5 with github"],
      ["invalid", "accounts", "account of user 6 with github"],
      ["orphan", "accounts", "account of user 2 with github"],
      ["orphan", "sessions", "session of user 2"],
      ["orphan", "sessions", "session of user 999"],
    ])
    for (const secret of ["gho_", "@", tokenOf(7)]) expect(dry.stdout + JSON.stringify(findings)).not.toContain(secret)
    expect((await authwire("--apply")).code).toBe(1)
    expect(await count("users")).toBe(0)
    const skipped = await authwire("--apply", "--skip")
    expect(skipped.stderr).toBe(
      "every row was compared: source and target are equal, except for 6 rows of the source that were skipped\n",
    )
    expect(skipped.code).toBe(0)
    expect([await count("users"), await count("accounts"), await count("sessions")]).toEqual([19, 16, 18])
  })

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
        const { stdout, stderr, code } = await authwire("--apply", "--delete", "--skip")
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
      const { stdout, stderr, code } = await authwire("--apply", "--delete", "--skip")
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
      expect(stdout).toMatch(/^taken +user 1400 +the address belongs to user a\?\[2J\?b of the tenant$/m)
      expect(stdout).toMatch(/^taken +account of user 3 with github +the key belongs to user a/m)
      // That would delete the user.
      expect(stdout + stderr).not.toContain("--delete")
      expect(code).toBe(1)
    }
    expect(await count("users")).toBe(1)
    const skipped = await authwire("--apply", "--skip")
    expect(skipped.stderr).toMatch(/^the tenant has rows that the source does not have: they stay\. /)
    expect([await count("users"), await count("accounts"), await count("sessions")]).toEqual([1500, 1499, 1499])
    expect(await count("accounts", "provider_account_id = 'g3' AND user_id = '3'")).toBe(0)
    // Whoever wants the user to go says so.
    expect((await authwire("--apply", "--delete")).code).toBe(0)
    expect([await count("users"), await count("users", "id = '1400'")]).toEqual([1500, 1])
  })

  if (target === "sqlite") {
    test("a run that fails tells what it has written", async () => {
      await fillForeignTables(at.source, 0, 2500)
      await at.database.query(
        "CREATE TRIGGER full BEFORE INSERT ON users WHEN NEW.id = '2100' BEGIN SELECT RAISE(ABORT, 'full'); END",
      )
      const { stdout, stderr, code } = await authwire("--apply")
      expect(stdout).toMatch(/^users +2000 +0 +0$/m)
      expect(stderr).toMatch(/^authwire: import: full .*; rows that were written are kept, and the command can be run/)
      expect(code).toBe(1)
      expect(await count("users")).toBe(2000)
    })
  }

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
    expect(rows).toHaveLength(3 * 620)
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
      for (const command of [["migrate", "status"], ["doctor"], ["export"], dryRun]) {
        expect(await run(command, env)).toMatchObject({ code: 0 })
      }
      const other = await createDatabase("sqlite")
      await migrate(other)
      const args = ["import", "--from=authwire", `--url=${url}`, `--database-url=${other.url}`, "--apply"]
      expect(await run(args, environment())).toMatchObject({ code: 0 })
      expect(await other.query("SELECT count(*) AS n FROM users")).toEqual([{ n: 10 }])
      await other.drop()
      await dropUser(at.database, name)
    })
  }

  test("doctor reports the state of both databases", async () => {
    await fillForeignTables(at.source, 0, 10)
    const well = await run(["doctor"], { AUTHWIRE_DATABASE_URL: at.database.url, AUTH_SECRET: testSecret })
    expect(well.stdout).toMatch(/^ok +migrations +\d+ applied, none pending$/m)
    expect(well.stdout).toMatch(/^ok +clock +within \d+ ms of the database's$/m)
    expect(well.stdout).not.toMatch(/^wrong/m)
    expect(well.code).toBe(0)

    await authwire("--apply")
    await run(["migrate", "down"], { ...environment(), AUTHWIRE_DATABASE_URL: at.database.url })
    await at.source.query("UPDATE logins SET type = 'credentials' WHERE login_id = 6")
    const ill = await run(["doctor", "--from=kysely", `--mapping=${at.folder}/mapping.json`], environment())
    expect(ill.stdout).toMatch(/^wrong +migrations +\S+ pending: run authwire migrate up$/m)
    expect(ill.stdout).toMatch(/^error +1 +accounts +invalid/m)
    expect(ill.code).toBe(1)
  })
})
