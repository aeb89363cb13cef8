import { createAuthwireClient } from "@authwire/client"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@authwire/proto/health"
import {
  createDatabaseOn,
  describeServer,
  ownServer,
  type PrivateServer,
  startPrivateDatabase,
  type TestDatabase,
} from "@authwire/test-support/databases/databases.js"
import { createUser, endConnections } from "@authwire/test-support/databases/server-sql.js"
import { createStoreDatabase } from "@authwire/test-support/databases/store-database.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { type ServerProcess, startServer } from "@authwire/test-support/processes/server.js"
import { anyone, encryptionKeys, newSession, newUser } from "@authwire/test-support/store-contract/context.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals"
import { openSqlStore } from "../../server/src/store/sql/index.js"

// A replica must not be ready while no write can succeed: a load balancer would keep sending sign-ins to it, which
// fail.
describeServer(
  "a database that rejects writes",
  (engine) => {
    let databaseServer: PrivateServer
    let database: TestDatabase
    let server: ServerProcess
    let ofRoot: ServerProcess

    beforeAll(async () => {
      const started = await startPrivateDatabase(engine)
      if (started === null) throw new Error(`no ${engine}`)
      databaseServer = started
      database = await createDatabaseOn(databaseServer)
      ofRoot = await startServer({ databaseUrl: database.url })
      server = await startServer({ databaseUrl: await createUser(database, "authwire", "password") })
    })
    afterEach(() => allowWrites())
    afterAll(async () => {
      await server?.stop()
      await ofRoot?.stop()
      await databaseServer?.remove()
    })

    const ofMysql = [
      { name: "read_only", stopsRoot: false, ofConnections: false },
      ...(engine === "mysql" ? [{ name: "super_read_only", stopsRoot: true, ofConnections: false }] : []),
      { name: engine === "mysql" ? "transaction_read_only" : "tx_read_only", stopsRoot: true, ofConnections: true },
    ]
    const ofPostgres = [{ name: "default_transaction_read_only", stopsRoot: true, ofConnections: false }]
    const settings = engine === "postgres" ? ofPostgres : ofMysql
    const set = async (name: string, value: 0 | 1) => {
      if (engine !== "postgres") return void (await database.query(`SET GLOBAL ${name} = ${value}`))
      await database.query(`SET ${name} = off`)
      await database.query(`ALTER SYSTEM SET ${name} = ${value}`)
      await database.query("SELECT pg_reload_conf()")
    }
    // MySQL enables the one setting with the other, but disables each separately.
    const allowWrites = async () => {
      for (const { name } of settings.toReversed()) await set(name, 0)
    }

    const healthOf = (one: ServerProcess) => createClient(Health, createGrpcTransport({ baseUrl: one.grpcUrl }))
    const health = async (one: ServerProcess) => ({
      status: (await healthOf(one).check({})).status,
      readyz: (await fetch(`${one.httpUrl}/readyz`)).status,
      healthz: (await fetch(`${one.httpUrl}/healthz`)).status,
    })
    const well = { status: Status.SERVING, readyz: 200, healthz: 200 }
    const unwell = { status: Status.NOT_SERVING, readyz: 503, healthz: 200 }
    /** Resolves when health has this status. The timeout is much longer than the change should take. */
    async function until(one: ServerProcess, wanted: Status) {
      const signal = AbortSignal.timeout(15_000)
      for await (const { status } of healthOf(one).watch({}, { signal })) if (status === wanted) return
    }
    const lines = (one: ServerProcess, text: RegExp) =>
      logOf(one)
        .map(({ msg }) => String(msg))
        .filter((msg) => text.test(msg))

    test.each(settings)(
      "S-52: $name: not ready, the log has the reason in one line, and reads continue",
      async ({ name, stopsRoot, ofConnections }) => {
        const before = lines(server, /^not ready|^the database answers/).length
        const user = newUser()
        const client = createAuthwireClient({ url: server.grpcUrl })
        await client.adapter.createUser({ id: user.id, email: "", emailVerified: null })
        const expired = { sessionToken: `expired ${user.id}`, userId: user.id, expires: new Date(0) }
        await client.adapter.createSession(expired)
        expect(await health(server)).toEqual(well)

        const start = performance.now()
        await set(name, 1)
        // Whether a connection may write in its transactions was decided when it was opened.
        if (ofConnections) await endConnections(database)
        await until(server, Status.NOT_SERVING)
        expect(performance.now() - start).toBeLessThan(10_000)
        expect(await health(server)).toEqual(unwell)
        expect(await client.adapter.getUser(user.id)).toMatchObject({ id: user.id })
        expect(await client.adapter.getSessionAndUser(expired.sessionToken)).toBeNull()
        await expect(client.adapter.deleteUser(user.id)).rejects.toMatchObject({ code: "UNAVAILABLE" })
        if (stopsRoot) await until(ofRoot, Status.NOT_SERVING)
        else expect(await health(ofRoot)).toEqual(well)

        await allowWrites()
        if (ofConnections) await endConnections(database)
        await until(server, Status.SERVING)
        await until(ofRoot, Status.SERVING)
        expect(await health(server)).toEqual(well)
        await client.adapter.deleteUser(user.id)
        client.close()
        expect(lines(server, /^not ready|^the database answers/).slice(before)).toEqual([
          expect.stringMatching(/^not ready: the server accepts no writes .*read.only/i),
          "the database answers and accepts writes",
        ])
      },
    )
  },
  ownServer(),
)

describe("a SQLite database that rejects writes", () => {
  test("fails the ping, and reads continue", async () => {
    const database = await createStoreDatabase("sqlite")
    const store = await openSqlStore({ encryptionKeys, url: database.url })
    const user = newUser()
    await store.users.create(anyone, user)
    const expired = await store.sessions.create(anyone, newSession(user.id, 0))
    await store.ping({})
    const connection = await store.database.dataSource.createQueryRunner().connect()
    connection.pragma("query_only = 1")
    const rejected = { reason: "DATABASE_UNAVAILABLE", cause: { failure: "read-only" } }
    await expect(store.ping({})).rejects.toMatchObject(rejected)
    await expect(store.users.delete(anyone, user.id)).rejects.toMatchObject(rejected)
    expect(await store.users.get(anyone, user.id)).toEqual(user)
    expect(await store.sessions.getWithUser(anyone, expired.sessionToken)).toBeNull()
    connection.pragma("query_only = 0")
    await store.ping({})
    await store.close()
    await database.drop()
  })
})
