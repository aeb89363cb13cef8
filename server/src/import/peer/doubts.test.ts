import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  createDatabase,
  createDatabaseOn,
  databaseTargets,
  describeServers,
  ownServers,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { createUser, dropUser } from "@authwire/test-support/databases/server-sql.js"
import { endsAfterEach } from "@authwire/test-support/endings.js"
import { describe, expect, test } from "@jest/globals"
import { check } from "../check.js"
import { noMapping } from "./mapping.js"
import { openSource } from "./open.js"
import { peerSource } from "./peer-source.js"

const later = endsAfterEach()

/** Creates the tables of an application, or those that are given, with three users. */
async function fill(database: TestDatabase, users = "users") {
  const text = database.target === "sqlite" ? "text" : "varchar(64)"
  for (const sql of [
    `CREATE TABLE ${users} (id ${text} PRIMARY KEY, email ${text})`,
    `CREATE TABLE accounts (provider ${text}, provider_account_id ${text}, user_id ${text}, type ${text}, PRIMARY KEY (provider, provider_account_id))`,
    `CREATE TABLE sessions (session_token ${text} PRIMARY KEY, user_id ${text}, expires ${text})`,
    `INSERT INTO ${users} VALUES ('a', 'a@example.com'), ('b', 'b@example.com'), ('c', 'c@example.com')`,
  ]) {
    await database.query(sql)
  }
}

async function open(url: string) {
  const source = await openSource(url)
  try {
    return await peerSource(source, { peer: "typeorm", mapping: noMapping, tenant: "default" })
  } catch (error) {
    await source.close()
    throw error
  }
}

async function opened(url: string) {
  const source = await open(url)
  later(() => source.close())
  return source
}

async function doubtsOf(url: string) {
  const { doubts, close } = await open(url)
  // Its transaction would block changes of the tables.
  await close()
  return doubts
}

describe.each(databaseTargets())("a source on %s", (target) => {
  test("is believed with tables, and doubted with a view, which may leave rows out", async () => {
    const database = await createDatabase(target)
    later(() => database.drop())
    await fill(database, "people")
    await database.query("CREATE VIEW users AS SELECT * FROM people WHERE id <> 'b'")
    expect(await doubtsOf(database.url)).toEqual(["users is a view: it may not show every row"])
    await database.query("DROP VIEW users")
    await database.query("ALTER TABLE people RENAME TO users")
    expect(await doubtsOf(database.url)).toEqual([])
  })
})

if (databaseTargets().includes("postgres")) {
  describe("a source on PostgreSQL", () => {
    const filled = async (users?: string) => {
      const database = await createDatabase("postgres")
      later(() => database.drop())
      await fill(database, users)
      return database
    }
    const withParameter = (url: string, parameter: string) => `${url}${url.includes("?") ? "&" : "?"}${parameter}`

    test("with a table of the same name in another schema is refused until the URL says which is meant", async () => {
      const { url, query } = await filled()
      expect((await opened(url)).notes).toContain("the tables are those of the schema public")
      await query("CREATE SCHEMA app")
      await query("CREATE TABLE app.users AS SELECT * FROM public.users LIMIT 1")
      await expect(opened(url)).rejects.toThrow(
        "there is a table users in the schema public, and also in app: say which one the application uses, with the parameter " +
          "schema of the URL, such as ?schema=public",
      )
      const chosen = await opened(withParameter(url, "schema=public"))
      expect(await chosen.count("users")).toBe(3)
      const search = encodeURIComponent("-c search_path=public")
      expect(await (await opened(withParameter(url, `options=${search}`))).count("users")).toBe(3)
    })

    test("is doubted with a materialized view, and as a subscriber", async () => {
      const { url, query } = await filled("people")
      await query("CREATE MATERIALIZED VIEW users AS SELECT * FROM people")
      await query("CREATE UNIQUE INDEX ON users (id)")
      await query("CREATE SUBSCRIPTION all_of_it CONNECTION '' PUBLICATION p WITH (connect = false)")
      later(async () => {
        await query("ALTER SUBSCRIPTION all_of_it SET (slot_name = NONE)")
        await query("DROP SUBSCRIPTION all_of_it")
      })
      expect(await doubtsOf(url)).toEqual([
        "the database is a replica by a subscription: it may lack what its primary has",
        "users is a materialized view: it may not show every row",
      ])
    })

    test("that shows fewer rows than it counts is refused: those are not missing", async () => {
      const { url, query } = await filled()
      // An index without the row, as an update of the system's collations leaves it.
      const ready = (isReady: boolean) =>
        query(`UPDATE pg_index SET indisready = ${isReady} WHERE indexrelid = 'users_pkey'::regclass`)
      await ready(false)
      await query("INSERT INTO users VALUES ('d', 'd@example.com')")
      await ready(true)
      await query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET enable_sort = off`)
      const source = await open(url)
      const counted = { users: 4, accounts: 0, sessions: 0, verificationTokens: 0, authenticators: 0 }
      expect(await source.count("users")).toBe(counted.users)
      await expect(check(source, { counted })).rejects.toThrow("the source counts 4 users, but shows only 3")
      await source.close()
      await query("REINDEX TABLE users")
      const sound = await check(await opened(url), { counted })
      expect(sound.accepted.users).toBe(4)
      sound.close()
    })
  })
}

describeServers(
  "a replica on %s",
  (engine) => {
    test("is doubted as a source", async () => {
      const server = await startPrivateDatabase(engine)
      if (server === null) throw new Error(`no ${engine}`)
      later(() => server.remove())
      const database = await createDatabaseOn(server)
      await fill(database)
      expect(await doubtsOf(database.url)).toEqual([])
      if (engine === "postgres") {
        await server.kill()
        writeFileSync(join(server.dataFolder, "standby.signal"), "")
        await server.start()
        expect(await doubtsOf(database.url)).toEqual(["the server is a standby: it may lack what its primary has"])
        return
      }
      const readOnly = "the server is read-only, and its user has no right to see whether it is a replica"
      const url = await createUser(database, "reader", "password", "SELECT")
      later(() => dropUser(database, "reader"))
      expect(await doubtsOf(url)).toEqual([])
      await database.query("SET GLOBAL read_only = ON")
      expect(await doubtsOf(url)).toEqual([`${readOnly}: it may lack what its primary has`])
      // Whoever made the server read-only for the move, and may see that it is no replica, is believed.
      expect(await doubtsOf(database.url)).toEqual([])
      await database.query(
        engine === "mysql"
          ? "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1' FOR CHANNEL 'one'"
          : "CHANGE MASTER 'one' TO MASTER_HOST = '127.0.0.1'",
      )
      expect(await doubtsOf(database.url)).toEqual(["the server is a replica: it may lack what its primary has"])
    })
  },
  ownServers(),
)
