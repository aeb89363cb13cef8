import { databaseTargets, describeServers, type TestDatabase } from "@authwire/test-support/databases/databases.js"
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
