import {
  createDatabaseOn,
  databaseTargets,
  describeServers,
  ownServers,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { anyone, encryptionKeys, newUser } from "../../../conformance/context.js"
import type { StoreDatabase } from "../../../conformance.js"
import { openSqlStore, type SqlStore } from "../../index.js"

const targets = databaseTargets().filter((target) => target === "mysql" || target === "mariadb")

describeServers(
  "errors of %s that mean an outage",
  (target) => {
    let database: StoreDatabase & TestDatabase
    let store: SqlStore
    let retries = 0

    beforeAll(async () => {
      database = await createStoreDatabase(target)
      store = await openSqlStore({ encryptionKeys, url: database.url, onRetry: () => retries++ })
    })
    afterAll(async () => {
      await store.close()
      await database.drop()
    })

    test.each([
      [1047, "a node of Galera that is not in the primary component"],
      [1053, "a server that shuts down"],
      [1461, "a server with the most prepared statements that it allows"],
      [3100, "a member that leaves its group during the commit"],
      [3796, "a member that is not in its group"],
      [3797, "a member that cannot catch up with its group"],
      [3799, "a member that is leaving its group"],
    ])("%i (%s) is DATABASE_UNAVAILABLE at once", async (errno) => {
      const created = newUser()
      await database.query(
        `CREATE TRIGGER failing BEFORE INSERT ON users FOR EACH ROW
       SIGNAL SQLSTATE '08S01' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'on purpose'`,
      )
      try {
        await expect(store.users.create(anyone, created)).rejects.toMatchObject({ reason: "DATABASE_UNAVAILABLE" })
      } finally {
        await database.query("DROP TRIGGER failing")
      }
      expect(retries).toBe(0)
      expect(await database.sql("SELECT id FROM users WHERE id = ?", [created.id])).toEqual([])
      expect(await store.users.create(anyone, created)).toEqual(created)
    })
  },
  targets,
)

describeServers(
  "too many prepared statements on %s",
  (target) => {
    test("a read that exceeds the limit of prepared statements is done on a new connection", async () => {
      const server = await startPrivateDatabase(target)
      if (server === null) throw new Error(`no ${target}`)
      const own = await createDatabaseOn(server)
      await migrate(own)
      await own.query("SET GLOBAL max_prepared_stmt_count = 10")
      const reader = await openSqlStore({ encryptionKeys, url: own.url, poolSize: 1 })
      try {
        for (let round = 0; round < 3; round++) {
          expect(await reader.users.get(anyone, "nobody")).toBeNull()
          expect(await reader.users.getByEmail(anyone, "nobody@example.com")).toBeNull()
          expect(await reader.users.getByAccount(anyone, { provider: "p", providerAccountId: "a" })).toBeNull()
          expect(await reader.users.count(anyone, {})).toBe(0)
          expect(await reader.users.count(anyone, { email: "nobody@example.com" })).toBe(0)
          expect((await reader.users.list(anyone, {}, { size: 1 })).items).toEqual([])
          expect(await reader.accounts.get(anyone, { provider: "p", providerAccountId: "a" })).toBeNull()
          expect(await reader.sessions.getWithUser(anyone, "t")).toBeNull()
          expect(await reader.sessions.get(anyone, "i")).toBeNull()
          expect((await reader.sessions.list(anyone, { userId: "nobody" }, { size: 1 })).items).toEqual([])
          expect(await reader.authenticators.get(anyone, "c")).toBeNull()
          expect(await reader.authenticators.listByUserId(anyone, "nobody")).toEqual([])
        }
      } finally {
        await reader.close()
        await server.remove()
      }
    })
  },
  ownServers().filter((engine) => engine !== "postgres"),
)
