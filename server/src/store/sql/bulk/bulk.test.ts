import {
  createDatabaseOn,
  describeServers,
  ownServers,
  type PrivateServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { migrate } from "@authwire/test-support/databases/migrate.js"
import { encryptionKeys, range } from "@authwire/test-support/store-contract/context.js"
import { afterAll, beforeAll, expect, test } from "@jest/globals"
import { openDatabase } from "../index.js"
import { bulk } from "./bulk.js"

describeServers(
  "rows in bulk on %s",
  (target) => {
    let server: PrivateServer
    let database: TestDatabase
    beforeAll(async () => {
      const started = await startPrivateDatabase(target)
      if (started === null) throw new Error(`no ${target}`)
      server = started
      database = await createDatabaseOn(server)
      await migrate(database)
      // The smallest limit that `authwire doctor` accepts. It applies to new connections.
      await database.query(`SET GLOBAL max_allowed_packet = ${4 * 1024 * 1024}`)
    })
    afterAll(async () => {
      await server?.remove()
    })

    test("rows with the largest tokens are written, although many of them exceed the size of a statement", async () => {
      // Some of the statements have several MiB, which a busy machine writes slowly.
      const opened = await openDatabase({ url: database.url, statementTimeoutMs: 60_000 })
      try {
        const { users, accounts } = bulk(opened, { tenant: "default", encryptionKeys })
        await users.write({ missing: [{ tenant: "default", id: "u", extra: {} }], changed: [] })
        const token = "t".repeat(131_072)
        const rows = range(60).map((n) => ({
          ...{ tenant: "default", userId: "u", type: "oauth" as const, provider: "p", providerAccountId: String(n) },
          ...{ access_token: token, refresh_token: token, id_token: token, extra: {} },
        }))
        await accounts.write({ missing: rows, changed: [] })
        expect(await accounts.differences(rows)).toEqual({ missing: [], changed: [] })
      } finally {
        await opened.close()
      }
    })
  },
  ownServers().filter((engine) => engine !== "postgres"),
)
