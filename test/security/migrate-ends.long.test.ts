import {
  createDatabaseOn,
  describeServer,
  ownServer,
  startPrivateDatabase,
} from "@authwire/test-support/databases/databases.js"
import { run } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"

// A command that cannot continue must report that and exit, because a deployment waits for it.
describeServer(
  "migrate up",
  (engine) => {
    test("ends with a line that gives the reason, whichever statement is the first to be rejected", async () => {
      const server = await startPrivateDatabase(engine)
      if (server === null) throw new Error(`no ${engine}`)
      try {
        const database = await createDatabaseOn(server)
        const url = new URL(database.url)
        await database.query("CREATE USER authwire@'%' IDENTIFIED BY 'password'")
        await database.query(`GRANT ALL ON ${url.pathname.slice(1)}.* TO authwire@'%'`)
        const env = {
          AUTHWIRE_DATABASE_URL: Object.assign(url, { username: "authwire", password: "password" }).href,
          AUTH_SECRET: "of the test",
        }
        // The server rejects the first statement, then the second, and so on: those of the probe, of the pool, of the
        // session.
        for (let statements = 1; statements <= 8; statements++) {
          await database.query(`ALTER USER authwire@'%' WITH MAX_QUERIES_PER_HOUR ${statements}`)
          await database.query("FLUSH USER_RESOURCES")
          const { code, stderr } = await run(["migrate", "up"], env)
          expect(stderr).toMatch(/^authwire: (cannot open the database at|migrate up:).*ER_USER_LIMIT_REACHED.*\n$/)
          expect(code).toBe(1)
        }
        await database.query("ALTER USER authwire@'%' WITH MAX_QUERIES_PER_HOUR 0")
        await database.query("FLUSH USER_RESOURCES")
        expect(await run(["migrate", "up"], env)).toMatchObject({ code: 0, stderr: "" })
      } finally {
        await server.remove()
      }
    })
  },
  // PostgreSQL has no limit of statements per user.
  ownServer(["mysql", "mariadb"]),
)
