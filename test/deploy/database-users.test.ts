import { createAuthwireClient } from "@authwire/client"
import { rejection } from "@authwire/test-support/connections/rejected.js"
import { createDatabase, testOnAllServers } from "@authwire/test-support/databases/databases.js"
import { documentedUsers } from "@authwire/test-support/databases/documented-users.js"
import { endConnections } from "@authwire/test-support/databases/server-sql.js"
import { run, startServer, testSecret } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { expect } from "@jest/globals"

const lacks = (what: RegExp) => new RegExp(`the user lacks a right \\(${what.source}\\): grant it: docs/deploying\\.md`)

// The contract of the store runs with the same users (server/src/store/sql/contract.test.ts).
testOnAllServers(
  "the owner of docs/deploying.md migrates; every command, and the service, work as the other user",
  async (later, engine) => {
    const database = await createDatabase(engine)
    later(database.drop)
    const users = await documentedUsers(database)
    later(users.drop)
    const [owner, service] = [users.owner, users.service].map((as) => as(database.url)) as [string, string]
    const as = (url: string, ...args: string[]) => run(args, { AUTHWIRE_DATABASE_URL: url, AUTH_SECRET: testSecret })
    const done = { code: 0, stderr: expect.not.stringContaining("lacks") }

    const refused = await as(service, "migrate", "up")
    expect(refused.stderr).toMatch(
      lacks(
        engine === "postgres"
          ? /permission denied for schema public, 42501/
          : /CREATE command denied to user '\w+'@'.*' for table .*, ER_TABLEACCESS_DENIED_ERROR/,
      ),
    )
    expect(refused.code).toBe(1)
    expect(await as(owner, "migrate", "up")).toMatchObject(done)

    const reverted = await as(service, "migrate", "down")
    expect(reverted.stderr).toMatch(
      engine === "postgres"
        ? /^authwire: migrate down: the user does not own the tables \(must be owner of table \w+, 42501\): run the command as/
        : lacks(/DROP command denied to user .*, ER_TABLEACCESS_DENIED_ERROR/),
    )
    // Another database, whose rows are imported.
    const source = await createDatabase("sqlite")
    later(source.drop)
    await as(source.url, "migrate", "up")
    await source.query(
      "INSERT INTO users (tenant, id, created, extra) VALUES ('default', 'imported', '2026-01-01 00:00:00.000', '{}')",
    )
    for (const command of [
      ["migrate", "status"],
      ["doctor"],
      ["tenants", "create", "acme"],
      ["tenants", "list"],
      ["keys", "create", "--name=a", "--scopes=all", "--tenant=acme"],
      ["keys", "list"],
      ["import", "--from=authwire", `--url=${source.url}`, "--apply"],
      ["export"],
      ["rekey"],
      ["cleanup"],
    ])
      expect([command, await as(service, ...command)]).toEqual([command, expect.objectContaining(done)])

    const server = await startServer({ databaseUrl: service, keys: true })
    later(server.stop)
    const client = createAuthwireClient({ url: server.grpcUrl, apiKey: server.apiKey })
    later(async () => client.close())
    const { users: people } = client
    await people.createUser({ id: "ada" })
    expect((await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)

    const { pathname, username } = new URL(service)
    const revoke =
      engine === "postgres"
        ? `REVOKE INSERT ON users FROM ${username}`
        : `REVOKE INSERT ON ${pathname.slice(1)}.* FROM ${username}`
    await database.query(revoke)
    // An open connection keeps the rights that it has on MySQL.
    await endConnections(database, username)
    await until(async () => /^Unavailable DATABASE_UNAVAILABLE/.test(await rejection(people.createUser({}))))
    const line = new RegExp(`"msg":"call failed: ${lacks(/.*denied.*/).source}`)
    await until(() => line.test(server.log()))

    await database.query("DROP TABLE verification_tokens")
    expect((await as(service, "cleanup")).stderr).toMatch(
      /^authwire: cleanup: a table is missing \(.*verification_tokens.*, (ER_NO_SUCH_TABLE|42P01)\): run authwire migrate up; /,
    )
  },
)
