import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createAuthwireClient } from "@authwire/client"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type Later, withEndings } from "@authwire/test-support/endings.js"
import { createKey, revokeKey } from "@authwire/test-support/processes/keys.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"
import { type OpenStream, openFollow, openWatch } from "./access/streams.js"

const reasonsOf = (streams: readonly OpenStream[]) => streams.map(({ reason }) => reason)

// Streams without a natural end. Their client sends its key only once.
const target = serviceDatabase()

describe("a stream that is open", () => {
  let database: TestDatabase
  let server: ServerProcess
  const file = join(process.env.AUTHWIRE_TEST_RUN_FOLDER as string, `keys-${crypto.randomUUID()}.json`)
  beforeAll(async () => {
    database = await createDatabase(target)
    await writeFile(file, "[]")
    server = await startServer({ databaseUrl: database.url, keys: false, args: [`--api-keys-file=${file}`] })
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    await database.drop()
  })

  /** Opens both kinds of streams, through both listeners. */
  async function open(later: Later, key: { text: string }): Promise<OpenStream[]> {
    const http2 = { httpVersion: "2" } as const
    const streams = await Promise.all([
      openWatch(createGrpcTransport({ baseUrl: server.grpcUrl }), key),
      openWatch(createConnectTransport({ baseUrl: server.httpUrl, httpVersion: "1.1" }), key),
      openFollow(createGrpcTransport({ baseUrl: server.grpcUrl }), key),
      openFollow(createConnectTransport({ baseUrl: server.httpUrl, ...http2 }), key),
    ])
    for (const stream of streams) later(stream.close)
    expect(reasonsOf(streams)).toEqual(Array(4).fill(undefined))
    return streams
  }
  const haveEnded = (streams: readonly OpenStream[]) => until(() => streams.every(({ reason }) => reason !== undefined))

  // They wait for revocations, an expiry and a file at the same time.
  test.concurrent(
    "ends when its key is revoked; streams of other keys continue",
    withEndings(async (later) => {
      const [key, other] = [await createKey(database, "all"), await createKey(database, "all")]
      const [streams, others] = [await open(later, key), await open(later, other)]
      await revokeKey(database, key)
      await haveEnded(streams)
      expect(reasonsOf(streams)).toEqual(Array(4).fill("API_KEY_INVALID"))
      expect(reasonsOf(others)).toEqual(Array(4).fill(undefined))
    }),
  )

  test.concurrent(
    "ends when its key expires, and not before",
    withEndings(async (later) => {
      const key = await createKey(database, "all", "--expires=4s")
      const streams = await open(later, key)
      const [row] = await database.query("SELECT expires FROM api_keys WHERE id = ?", [key.id])
      const expires =
        row?.expires instanceof Date ? row.expires : new Date(`${String(row?.expires).replace(" ", "T")}Z`)
      await haveEnded(streams)
      for (const { endedAt } of streams) expect(endedAt).toBeGreaterThanOrEqual(expires.getTime())
      expect(reasonsOf(streams)).toEqual(Array(4).fill("API_KEY_INVALID"))
    }),
  )

  test.concurrent(
    "ends when a file moves its key to another tenant, or removes its scopes",
    withEndings(async (later) => {
      const [moved, restricted, same] = [staticKey(["all"]), staticKey(["all"]), staticKey(["all"])]
      await writeFile(file, JSON.stringify([moved, restricted, same].map(({ entry }) => entry)))
      let streams: OpenStream[][] = []
      await until(async () => (await probe(same)) === undefined)
      streams = [await open(later, moved), await open(later, restricted), await open(later, same)]
      const entries = [{ ...moved.entry, tenant: "other" }, { ...restricted.entry, scopes: ["users:read"] }, same.entry]
      await writeFile(file, JSON.stringify(entries))
      await haveEnded(streams.slice(0, 2).flat())
      expect(streams.map(reasonsOf)).toEqual([
        Array(4).fill("API_KEY_INVALID"),
        Array(4).fill("SCOPE_MISSING"),
        Array(4).fill(undefined),
      ])
    }),
  )

  /** Returns the reason why a stream is rejected. */
  async function probe(key: { text: string }) {
    const stream = await openWatch(createGrpcTransport({ baseUrl: server.grpcUrl }), key)
    const { reason } = stream
    await stream.close()
    return reason
  }

  test.concurrent(
    "of a session cache: cached sessions are no longer used, and reads fail with the error of the key",
    withEndings(async (later) => {
      const key = await createKey(database, "all")
      const client = createAuthwireClient({
        url: server.grpcUrl,
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
