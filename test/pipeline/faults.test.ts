import { outcome, pipelineClient, startReplicas, tally } from "@authwire/test-support/connections/pipeline.js"
import {
  createDatabase,
  describeServer,
  type TestDatabase,
  tcpProxy,
} from "@authwire/test-support/databases/databases.js"
import { lockTable } from "@authwire/test-support/databases/server-sql.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { expect, test } from "@jest/globals"

const thousand = Array.from({ length: 1000 }, (_, index) => index)
const named = (name: string) => ({ name, emailVerified: null }) as never

/** Returns the names of all users, and checks that no name occurs twice. */
async function namesOf(database: TestDatabase): Promise<Set<string>> {
  const names = (await database.query("SELECT name FROM users")).map(({ name }) => String(name))
  expect(names).toHaveLength(new Set(names).size)
  return new Set(names)
}

describeServer("one of two servers is killed", (target) => {
  // The concurrency limit is raised because one server gets the calls of both.
  const args = ["--log-level=warn", "--max-active-calls=2000"]

  test("with 1,000 calls in flight: all succeed on the other server, and every write is done once", async () => {
    const database = await createDatabase(target)
    const replicas = await startReplicas([database.url, database.url], args)
    let hosts = replicas.hosts.slice(0, 1)
    let laterMs = 0
    const now = () => performance.now() + laterMs
    const client = pipelineClient({ url: replicas.url, resolve: async () => hosts, now, timeoutMs: 20_000 })
    await client.adapter.getUser("nobody")
    const unlock = await lockTable(database, "users")
    const calls = thousand.map((index) =>
      outcome(index % 2 === 0 ? client.adapter.getUser("nobody") : client.adapter.createUser(named(`${index}`))),
    )
    // Needs no database: when it is answered, the calls before it are active.
    await client.tokens.encode({ payload: {}, salt: "s" })
    hosts = [...replicas.hosts]
    laterMs += 31_000
    await client.tokens.encode({ payload: {}, salt: "s" })

    const start = performance.now()
    await replicas.server(0).stop("SIGKILL")
    await unlock()
    expect(tally(await Promise.all(calls))).toEqual({ OK: 1000 })
    expect(performance.now() - start).toBeLessThan(20_000)
    expect((await namesOf(database)).size).toBe(500)
    client.close()
    await replicas.stop()
    await database.drop()
  })
})

describeServer("a database that hangs", (target) => {
  test("lets calls end at their deadlines or when they are cancelled, frees them, and delays no other client", async () => {
    const database = await createDatabase(target)
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port || 3306))
    url.host = `127.0.0.1:${proxy.port}`
    const server = await startServer({ databaseUrl: url.href, args: ["--log-level=warn"] })
    const client = pipelineClient({ url: server.grpcUrl })
    await client.adapter.getUser("nobody")
    // The service has read the session policy then, which limits the lifetime of tokens.
    await client.tokens.encode({ payload: {}, salt: "s" })
    proxy.hang()
    // More calls than a stream allows, unless those of the earlier rounds were freed.
    for (let round = 0; round < 4; round++) {
      const giveUp = new AbortController()
      const late = thousand
        .slice(0, 500)
        .map(() => outcome(client.users.getUser({ id: "nobody" }, { timeoutMs: 200 + round })))
      const givenUp = thousand
        .slice(0, 500)
        .map(() => outcome(client.users.getUser({ id: "nobody" }, { signal: giveUp.signal })))
      await client.tokens.encode({ payload: {}, salt: "s" })
      giveUp.abort()
      expect(tally(await Promise.all(givenUp))).toEqual({ CANCELLED: 500 })
      expect(tally(await Promise.all(late))).toEqual({ DEADLINE_EXCEEDED: 500 })
      await client.tokens.encode({ payload: {}, salt: "s" })
    }
    await proxy.restore()
    expect(tally(await Promise.all(thousand.map(() => outcome(client.adapter.getUser("nobody")))))).toEqual({
      OK: 1000,
    })
    client.close()
    expect(await server.stop()).toBe(0)
    await proxy.close()
    await database.drop()
  })
})

describeServer("a server that does not read", (target) => {
  test("lets calls end at their deadlines; when it reads again, calls succeed on the same stream", async () => {
    const database = await createDatabase(target)
    const server = await startServer({ databaseUrl: database.url })
    const proxy = await tcpProxy(Number(new URL(server.grpcUrl).port))
    // The wall clock is constant, so that a busy machine does not look like one that was suspended. There, the rounds may
    // also take longer than a check of the connection may, and calls that succeed longer than their default deadline.
    const client = pipelineClient({
      url: `http://127.0.0.1:${proxy.port}`,
      wallClock: () => 0,
      checkMs: 600_000,
      timeoutMs: 60_000,
    })
    await client.adapter.getUser("nobody")
    proxy.hang()
    // Keeps the stream in use. Without a call it would end after a moment, which a busy machine may need between the rounds.
    const patient = outcome(client.users.getUser({ id: "nobody" }, { timeoutMs: 60_000 }))
    for (let round = 0; round < 3; round++) {
      // More calls than a stream allows, large enough to fill every buffer on the way.
      const calls = [...thousand, ...thousand].map((index) =>
        outcome(client.users.createUser({ id: `${round} ${index}`, name: "x".repeat(1000) }, { timeoutMs: 300 })),
      )
      expect(tally(await Promise.all(calls))).toEqual({ DEADLINE_EXCEEDED: 2000 })
    }
    await proxy.restore()
    // Begun before the patient call is answered, so that the stream is never without one.
    const later = thousand.map(() => outcome(client.adapter.getUser("nobody")))
    expect(await patient).toBe("NOT_FOUND")
    expect(tally(await Promise.all(later))).toEqual({ OK: 1000 })
    client.close()
    expect(await server.stop()).toBe(0)
    const streams = server.log().match(/.*PipelineService\/Pipeline.*/g) ?? []
    expect(streams.join("\n")).toMatch(/^.*"code":"OK".*$/)
    await proxy.close()
    await database.drop()
  })
})
