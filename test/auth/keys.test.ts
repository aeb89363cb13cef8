import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { UserService } from "@authwire/proto"
import { getUserRequest, header, paths } from "@authwire/test-support/attack/requests.js"
import {
  type AttackConnection,
  type AttackStream,
  attackConnection,
  endOf,
} from "@authwire/test-support/attack/streams.js"
import { frame, openBarePipeline } from "@authwire/test-support/connections/bare-pipeline.js"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type Later, withEndings } from "@authwire/test-support/endings.js"
import { createKey, revokeKey, type TestKey } from "@authwire/test-support/processes/keys.js"
import { logOf } from "@authwire/test-support/processes/log.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { ask, bearer, open } from "./access/asking.js"
import { type OpenStream, openFollow, openWatch } from "./access/streams.js"

type Begun = { connection: AttackConnection; call: AttackStream }

const { getUser, createUser, deleteUser } = UserService.method

// The keys of calls, of open pipelines, and of streams without a natural end. The client of a pipeline or of a stream sends
// its key only once.
describe("keys", () => {
  let database: TestDatabase
  let servers: [ServerProcess, ServerProcess]
  const file = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `keys-${crypto.randomUUID()}.json`)
  const use = (...entries: object[]) => writeFile(file, JSON.stringify(entries))
  beforeAll(async () => {
    database = await createDatabase(serviceDatabase())
    await use()
    const options = { databaseUrl: database.url, keys: false, args: [`--api-keys-file=${file}`] }
    servers = [await startServer(options), await startServer(options)]
  })
  afterAll(async () => {
    for (const server of servers) expect(await server.stop()).toBe(0)
    await database.drop()
  })

  /** Opens both kinds of streams, through both listeners. */
  async function openStreams(later: Later, key: { text: string }): Promise<OpenStream[]> {
    const [{ grpcUrl, httpUrl }] = servers
    const streams = await Promise.all([
      openWatch(createGrpcTransport({ baseUrl: grpcUrl }), key),
      openWatch(createConnectTransport({ baseUrl: httpUrl, httpVersion: "1.1" }), key),
      openFollow(createGrpcTransport({ baseUrl: grpcUrl }), key),
      openFollow(createConnectTransport({ baseUrl: httpUrl, httpVersion: "2" }), key),
    ])
    for (const stream of streams) later(stream.close)
    expect(reasonsOf(streams)).toEqual(Array(4).fill(undefined))
    return streams
  }
  const reasonsOf = (streams: readonly OpenStream[]) => streams.map(({ reason }) => reason)
  const haveEnded = (streams: readonly OpenStream[]) => until(() => streams.every(({ reason }) => reason !== undefined))

  // The tests wait at the same time: for the expiry of a key, and for reads of all keys and of a file.
  test.concurrent("a new key works immediately, on every server and on a pipeline, also several at the same time", async () => {
    const made: TestKey[] = []
    for (let count = 0; count < 3; count++) {
      made.push(await createKey(database, "users:read"))
      for (const server of servers) {
        for (const key of made) expect(await ask(server, key)).toBe("USER_NOT_FOUND")
        const stream = open(server.grpcUrl, made[count] as TestKey)
        expect(await stream.ask()).toBe("USER_NOT_FOUND")
        stream.close()
      }
    }
  })

  test.concurrent(
    "S-16: a key that is revoked stops working on every server permanently, and ends its streams and the calls that wait; other keys continue",
    withEndings(async (later) => {
      const [key, other] = [await createKey(database, "all"), await createKey(database, "all")]
      const pipelines = servers.flatMap(({ grpcUrl, httpUrl }) => [open(grpcUrl, key), open(httpUrl, key)])
      const others = servers.map(({ grpcUrl }) => open(grpcUrl, other))
      const [streams, otherStreams] = [await openStreams(later, key), await openStreams(later, other)]
      // Calls that are admitted, and wait for their requests.
      const begun = [key, other].map(({ text }) =>
        servers.flatMap(({ grpcUrl, httpUrl }) =>
          [grpcUrl, httpUrl].map((url) => {
            const connection = attackConnection(url)
            later(async () => connection.close())
            return { connection, call: connection.open(header(paths.getUser, { key: text })) }
          }),
        ),
      ) as [Begun[], Begun[]]
      const everywhere = () =>
        Promise.all([...pipelines.map((one) => one.ask()), ...servers.map((server) => ask(server, key))])
      expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
      for (const { connection } of begun.flat()) await connection.seen()
      await revokeKey(database, key)
      let outcomes: string[] = []
      await until(async () => {
        outcomes = await everywhere()
        // Until then it works as before.
        expect(outcomes.filter((one) => !["USER_NOT_FOUND", "API_KEY_INVALID"].includes(one))).toEqual([])
        return outcomes.every((one) => one === "API_KEY_INVALID")
      })
      // It must not become valid again with the next read of all keys (every two seconds), nor by a lookup. So the test
      // waits.
      const end = performance.now() + 3_000
      await until(async () => {
        expect(new Set(await everywhere())).toEqual(new Set(["API_KEY_INVALID"]))
        return performance.now() > end
      })
      await haveEnded(streams)
      for (const { call } of begun[0]) expect(await endOf(call)).toBe("16 NO_ERROR")
      for (const { call } of begun[1]) {
        call.stream.end(getUserRequest("nobody"))
        expect(await endOf(call)).toBe("5 NO_ERROR")
      }
      expect(reasonsOf(streams)).toEqual(Array(4).fill("API_KEY_INVALID"))
      expect(reasonsOf(otherStreams)).toEqual(Array(4).fill(undefined))
      expect(await Promise.all(others.map((one) => one.ask()))).toEqual(["USER_NOT_FOUND", "USER_NOT_FOUND"])
      for (const pipeline of [...pipelines, ...others]) pipeline.close()
    }),
  )

  test.concurrent(
    "a key ends when it expires, also on open pipelines and streams, and not before",
    withEndings(async (later) => {
      const key = await createKey(database, "all", "--expires=12s")
      const latest = Date.now() + 12_000
      const pipelines = servers.map(({ grpcUrl }) => open(grpcUrl, key))
      const streams = await openStreams(later, key)
      const everywhere = () => Promise.all([...pipelines, { ask: () => ask(servers[0], key) }].map((one) => one.ask()))
      expect(new Set(await everywhere())).toEqual(new Set(["USER_NOT_FOUND"]))
      const [row] = await database.query("SELECT expires FROM api_keys WHERE id = ?", [key.id])
      const at = row?.expires instanceof Date ? row.expires : new Date(`${String(row?.expires).replace(" ", "T")}Z`)
      const expires = at.getTime()
      expect(expires).toBeLessThanOrEqual(latest)
      const check = async () => {
        const asked = Date.now()
        const outcomes = await everywhere()
        const answered = Date.now()
        if (answered < expires) expect(new Set(outcomes)).toEqual(new Set(["USER_NOT_FOUND"]))
        if (asked >= expires) expect(new Set(outcomes)).toEqual(new Set(["API_KEY_INVALID"]))
        return asked - expires
      }
      await until(async () => (await check()) > -1_000)
      // Without pauses around the moment itself.
      while ((await check()) < 0);
      await haveEnded(streams)
      expect(reasonsOf(streams)).toEqual(Array(4).fill("API_KEY_INVALID"))
      for (const { endedAt } of streams) expect(endedAt).toBeGreaterThanOrEqual(expires)
      for (const pipeline of pipelines) pipeline.close()
    }),
  )

  test.concurrent("the authorization of a call in a pipeline is ignored: that of its stream applies", async () => {
    const [reads, all] = [await createKey(database, "users:read"), await createKey(database, "all")]
    const stream = open(servers[0].grpcUrl, reads)
    const id = crypto.randomUUID()
    for (const header of [{}, bearer(all), bearer({ text: "x" }), { authorization: "" }] as Record<string, string>[]) {
      expect(await stream.ask(createUser, { id }, header)).toBe("SCOPE_MISSING")
      expect(await stream.ask(getUser, {}, header)).toBe("USER_NOT_FOUND")
    }
    stream.close()
    const rejected = openBarePipeline(servers[0].grpcUrl, bearer({ text: "x" }))
    rejected.send({ calls: [frame(1, getUser, { id: "nobody" }, { header: bearer(all) })] })
    expect((await rejected.ended).reason).toBe("API_KEY_INVALID")
    expect(await database.query("SELECT id FROM users WHERE id = ?", [id])).toEqual([])
  })

  test.concurrent(
    "keys of a file work in addition to those of the database, and follow changes of the file; errors of the file are logged",
    withEndings(async (later) => {
      const [server] = servers
      const [replaced, moved, restricted] = [staticKey(["all"]), staticKey(["all"]), staticKey(["all"])]
      const given = [replaced, moved, restricted]
      await use(...given.map(({ entry }) => entry))
      await until(async () => (await ask(server, restricted)) === "USER_NOT_FOUND")
      const pipelines = given.map((key) => open(server.grpcUrl, key))
      const streams = [await openStreams(later, replaced), await openStreams(later, moved)]
      const outcomes = async () => [
        await ask(server, replaced),
        ...(await Promise.all(pipelines.map((one) => one.ask()))),
      ]
      expect(await outcomes()).toEqual(Array(4).fill("USER_NOT_FOUND"))

      await use({ ...replaced.entry, scopes: ["hunter2"] })
      await until(() => logOf(server).some(({ problem }) => String(problem).startsWith("[0].scopes: must be a list")))
      expect(server.output()).not.toContain("hunter2")
      expect(await outcomes()).toEqual(Array(4).fill("USER_NOT_FOUND"))

      // The same id with another secret is a different key. A stream does not move to another tenant.
      const ofRestricted = await openStreams(later, restricted)
      await use(
        { ...replaced.entry, secretSha256: "0".repeat(64) },
        { ...moved.entry, tenant: "other" },
        { ...restricted.entry, scopes: ["users:write"] },
      )
      await haveEnded([...streams.flat(), ...ofRestricted])
      expect(streams.map(reasonsOf)).toEqual([Array(4).fill("API_KEY_INVALID"), Array(4).fill("API_KEY_INVALID")])
      expect(reasonsOf(ofRestricted)).toEqual(Array(4).fill("SCOPE_MISSING"))
      expect(await outcomes()).toEqual(["API_KEY_INVALID", "API_KEY_INVALID", "USER_NOT_FOUND", "SCOPE_MISSING"])
      expect(await pipelines[2]?.ask(deleteUser)).toBe("USER_NOT_FOUND")
      for (const pipeline of pipelines) pipeline.close()
    }),
  )

  test.concurrent(
    "of a session cache that is revoked: cached sessions are no longer used, and reads fail with the error of the key",
    withEndings(async (later) => {
      const key = await createKey(database, "all")
      const client = createAuthwireClient({
        url: servers[0].grpcUrl,
        apiKey: key.text,
        sessionCache: { maxStaleMs: 10_000 },
      })
      later(async () => client.close())
      const { adapter } = client
      const user = { id: crypto.randomUUID(), name: "Ada", email: "ada@example.com", emailVerified: null }
      const { id: userId } = await adapter.createUser(user)
      const sessionToken = crypto.randomUUID()
      await adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
      // A response from memory arrives before the socket is read.
      await until(async () => {
        let isThere = false
        const asked = adapter.getSessionAndUser(sessionToken).then(() => {
          isThere = true
        })
        for (let turn = 0; turn < 5; turn++) await undefined
        const fromMemory = isThere
        await asked
        return fromMemory
      })
      await revokeKey(database, key)
      let error: unknown
      await until(async () => {
        error = await adapter.getSessionAndUser(sessionToken).then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        return error !== undefined
      })
      expect(error).toMatchObject({ code: "UNAUTHENTICATED", reason: "API_KEY_INVALID" })
    }),
  )
})
