import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createAuthwireClient } from "@authwire/client"
import { databaseTargets } from "@authwire/test-support/databases/databases.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { describe, expect, test } from "@jest/globals"
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
  })

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
      /^every row of the source was compared, and is in the target\nthe tenant has rows that the source does not have \(3\): they stay\. --delete deletes them, /,
    )
    expect(kept.code).toBe(0)
    const deleted = await authwire("--apply", "--delete")
    expect(deleted.stdout).toMatch(/^users +0 +0 +1$/m)
    expect(deleted.stderr).toBe("every row was compared: source and target are equal\n")
    expect(deleted.code).toBe(0)
    for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(709)
  })

  test("a second run compares every row: it finds no difference, or what something else has changed in Authwire", async () => {
    await fillForeignTables(at.source, 0, 1200)
    const changes = ["UPDATE users SET name = 'Changed' WHERE id = '7'", "DELETE FROM accounts WHERE user_id = '1100'"]
    for (const [added, changed, of] of [
      [1200, 0, "everything"],
      [0, 0, "nothing"],
      [0, 1, "both changes"],
    ] as const) {
      const { stdout, stderr, code } = await authwire("--apply", "--delete")
      const accounts = added + changed
      expect([of, stdout]).toEqual([
        of,
        expect.stringMatching(new RegExp(`^users +${added} +${changed} +0\naccounts +${accounts} +0 +0$`, "m")),
      ])
      expect(stderr).toBe("every row was compared: source and target are equal\n")
      expect(code).toBe(0)
      if (of === "nothing") for (const change of changes) await at.database.query(change)
    }
    for (const table of ["users", "accounts", "sessions"]) expect(await count(table)).toBe(1200)
    expect(await count("users", "name = 'Person 7'")).toBe(1)
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

  if (target === "sqlite") {
    test("a run that fails tells what it has written", async () => {
      await fillForeignTables(at.source, 0, 2500)
      await at.database.query(
        "CREATE TRIGGER full BEFORE INSERT ON users WHEN NEW.id = '2100' BEGIN SELECT RAISE(ABORT, 'full'); END",
      )
      const { stdout, stderr, code } = await authwire("--apply")
      expect(stdout).toMatch(/^users +2000 +0 +0$/m)
      expect(stderr).toMatch(
        /^authwire: import: .*\(SQLITE_CONSTRAINT_TRIGGER\); rows that were written are kept, and the command can be run/,
      )
      expect(code).toBe(1)
      expect(await count("users")).toBe(2000)
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
