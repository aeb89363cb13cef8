import {
  createDatabase,
  describeServer,
  serviceServer,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { run, testSecret } from "@authwire/test-support/processes/server.js"
import { afterEach, beforeEach, expect, test } from "@jest/globals"
import { hasAdapters, type Written, writeBy } from "./fixtures.js"

describeServer(
  "the findings of a dry run in tables of Prisma",
  (target) => {
    let source: TestDatabase
    let database: TestDatabase
    let written: Written
    beforeEach(async () => {
      source = await createDatabase(target)
      database = await createDatabase("sqlite")
      await run(["migrate", "up"], { AUTHWIRE_DATABASE_URL: database.url })
      written = await writeBy("prisma", source.url)
    })
    afterEach(async () => {
      await source.drop()
      await database.drop()
    })

    const dryRun = () =>
      run(["import", "--from=prisma"], {
        AUTHWIRE_DATABASE_URL: database.url,
        AUTHWIRE_SOURCE_URL: source.url,
        AUTH_SECRET: testSecret,
      })

    test("truncated: a value that a database without strict mode has truncated", async () => {
      expect((await dryRun()).stdout).not.toMatch(/truncated/)
      const [user] = written.users
      const given = "a".repeat(150) + "b".repeat(150)
      await source.query("SET SESSION sql_mode = ''")
      await source.query(
        "INSERT INTO Account (id, userId, type, provider, providerAccountId) VALUES ('cut', ?, 'oauth', 'long', ?)",
        [user?.id, given],
      )
      const [row] = await source.query("SELECT providerAccountId AS kept FROM Account WHERE id = 'cut'")
      expect(row).toEqual({ kept: given.slice(0, 191) })

      const { stdout, code } = await dryRun()
      expect(stdout).toMatch(/^warning +1 +accounts +truncated: they have a value that fills its column/m)
      const detail = `account of user ${user?.id} with long +providerAccountId has the maximum length of its column \\(varchar\\(191\\)\\)`
      expect(stdout).toMatch(new RegExp(`^truncated +${detail}`, "m"))
      expect(stdout).not.toContain(given.slice(0, 100))
      expect(code).toBe(0)
    })

    test("folded-reference: a foreign key that matches only by a case-insensitive collation", async () => {
      expect((await dryRun()).stdout).not.toMatch(/folded-reference/)
      const id = String(written.users[0]?.id)
      expect(id.toUpperCase()).not.toBe(id)
      // The database accepts it, because it is equal to the user by its collation.
      await source.query(
        "INSERT INTO Session (id, sessionToken, userId, expires) VALUES ('f', 'folded', ?, '2030-01-01')",
        [id.toUpperCase()],
      )
      // Foreign keys would reject this row, so they are disabled, as during the import of a dump.
      await source.query("SET SESSION foreign_key_checks = 0")
      await source.query(
        "INSERT INTO Session (id, sessionToken, userId, expires) VALUES ('o', 'orphan', 'x', '2030-01-01')",
      )

      const { stdout, code } = await dryRun()
      expect(stdout).toMatch(/^warning +1 +sessions +folded-reference: they name a user whose id differs in case/m)
      expect(stdout).toMatch(new RegExp(`^folded-reference +session of user ${id.toUpperCase()}, SHA-256 `, "m"))
      expect(stdout).toMatch(/^warning +1 +sessions +orphan: /m)
      expect(stdout).toMatch(/^orphan +session of user x, SHA-256 /m)
      expect(code).toBe(0)
    })
  },
  hasAdapters() ? serviceServer(["mysql", "mariadb"]) : undefined,
)
