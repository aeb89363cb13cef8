import { type AuthwireClient, createAuthwireClient } from "@authwire/client"
import { SessionCacheService, SessionService } from "@authwire/proto"
import { createDatabase, serviceDatabase, type TestDatabase } from "@authwire/test-support/databases/databases.js"
import { type ServerProcess, startServer, staticKey } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals"

// Only calls of the same tenant wait for a tenant's clients.
const target = serviceDatabase()

describe("session caches of several tenants", () => {
  let database: TestDatabase
  let server: ServerProcess
  let other: ServerProcess | undefined
  /** A client of tenant `here` with a cache, and a client of tenant `there`. */
  let here: AuthwireClient
  let there: AuthwireClient
  const keyHere = staticKey(["all"], { tenant: "here" })
  const keyThere = staticKey(["all"], { tenant: "there" })

  beforeAll(async () => {
    database = await createDatabase(target)
    const env = { AUTHWIRE_API_KEYS: JSON.stringify([keyHere, keyThere].map(({ entry }) => entry)) }
    const start = () =>
      startServer({
        databaseUrl: database.url,
        keys: false,
        env,
        args: ["--metrics-addr=127.0.0.1:0", "--log-format=json"],
      })
    server = await start()
    if (target !== "sqlite") other = await start()
    here = createAuthwireClient({
      url: other?.grpcUrl ?? server.grpcUrl,
      apiKey: keyHere.text,
      // A long lease, so that a shorter wait shows that the change was confirmed.
      sessionCache: { maxStaleMs: 10_000 },
      timeoutMs: 15_000,
    })
    there = createAuthwireClient({ url: server.grpcUrl, apiKey: keyThere.text, timeoutMs: 15_000 })
  })
  afterAll(async () => {
    here.close()
    there.close()
    await other?.stop()
    await server.stop()
    await database.drop()
  })

  async function signedIn({ adapter, sessions }: AuthwireClient) {
    const user = { id: crypto.randomUUID(), name: "Ada", email: `${crypto.randomUUID()}@example.com` }
    const { id: userId } = await adapter.createUser({ ...user, emailVerified: null })
    const sessionToken = crypto.randomUUID()
    await adapter.createSession({ sessionToken, userId, expires: new Date(Date.now() + 3_600_000) })
    const listed = await sessions.listSessions({ userId })
    return { sessionToken, userId, id: listed.sessions[0]?.id as string }
  }

  /** Reads until the session is answered from the cache. */
  async function isKept(sessionToken: string): Promise<void> {
    await until(async () => {
      let isThere = false
      const asked = here.adapter.getSessionAndUser(sessionToken).then(() => {
        isThere = true
      })
      for (let turn = 0; turn < 5; turn++) await undefined
      const fromMemory = isThere
      await asked
      return fromMemory
    })
  }

  /** A client that keeps renewing the longest lease, and never confirms. */
  async function follower(key: string) {
    const abort = new AbortController()
    const headers = { authorization: `Bearer ${key}` }
    const calls = createClient(SessionCacheService, createGrpcTransport({ baseUrl: server.grpcUrl }))
    let answered = 0n
    let keys = 0
    let wake = () => {}
    async function* requests() {
      for (let nonce = 1n; ; nonce++) {
        yield { nonce, ...(nonce === 1n && { maxStaleMs: 10_000 }) }
        while (answered < nonce && !abort.signal.aborted)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        if (abort.signal.aborted) return
      }
    }
    const ended = (async () => {
      for await (const news of calls.follow(requests(), { headers, signal: abort.signal })) {
        if (news.nonce > answered) answered = news.nonce
        keys += news.keys.length
        wake()
      }
    })().catch(() => {})
    await until(() => answered > 2n)
    return {
      keys: () => keys,
      answered: () => answered,
      async close() {
        abort.abort()
        wake()
        await ended
      },
    }
  }

  /** Returns the duration of a revocation that waits for the caches. */
  async function revoked(id: string): Promise<number> {
    const begun = performance.now()
    await here.sessions.revokeSession({ id, awaitCaches: true })
    return performance.now() - begun
  }

  /**
   * A revocation whose deadline only the service gets, because a client's own timer could end it before the response.
   */
  function revokedThere(id: string, timeout: string) {
    const calls = createClient(SessionService, createGrpcTransport({ baseUrl: server.grpcUrl }))
    const headers = { authorization: `Bearer ${keyThere.text}`, "grpc-timeout": timeout }
    return calls.revokeSession({ id, awaitCaches: true }, { headers })
  }

  /** Returns the load metrics of the replica that the attacker follows. */
  async function gauges() {
    const [, url] = /metrics at (http:[^\s"]+)/.exec(server.output()) ?? []
    const text = await (await fetch(url as string)).text()
    const of = (name: string) => Number(new RegExp(`^authwire_session_cache_${name} (\\d+)$`, "m").exec(text)?.[1])
    return { streams: of("streams"), leases: of("leases") }
  }

  test("an idle tenant has confirmed the writes of other tenants", async () => {
    const { sessionToken, id } = await signedIn(here)
    await isKept(sessionToken)
    const begun = performance.now()
    for (let round = 0; round < 3; round++) {
      await signedIn(there)
      const error = await here.sessions
        .deleteSession({ sessionToken: "unknown", awaitCaches: true })
        .catch((error: unknown) => error)
      expect(error).toMatchObject({ message: expect.stringContaining("no such session") })
    }
    expect(performance.now() - begun).toBeLessThan(5_000)
    expect(await revoked(id)).toBeLessThan(5_000)
  })

  test("writes that concern no cache do not delay it, in any tenant", async () => {
    let isOver = false
    const writing = [here, there].map(async (client) => {
      while (!isOver) await signedIn(client)
    })
    for (let round = 0; round < 5; round++) {
      const session = await signedIn(here)
      await isKept(session.sessionToken)
      expect(await revoked(session.id)).toBeLessThan(5_000)
    }
    isOver = true
    await Promise.all(writing)
  })

  test("a client that never confirms does not delay the revocations of another tenant", async () => {
    const attacker = await follower(keyThere.text)
    // A change that it would have to confirm.
    const news = await signedIn(there)
    await there.adapter.updateUser({ id: news.userId, name: "Grace" })
    await until(() => attacker.keys() > 0)
    for (let round = 0; round < 3; round++) {
      const session = await signedIn(here)
      await isKept(session.sessionToken)
      expect(await revoked(session.id)).toBeLessThan(5_000)
      expect(await here.adapter.getSessionAndUser(session.sessionToken)).toBeNull()
    }
    expect(await gauges()).toEqual({ streams: target === "sqlite" ? 2 : 1, leases: target === "sqlite" ? 2 : 1 })
    // It was connected all the time, and calls of its own tenant still wait for it.
    const before = attacker.answered()
    await until(() => attacker.answered() > before)
    const error = await revokedThere(news.id, "2000m").catch((error: unknown) => error)
    expect(error).toMatchObject({
      message: expect.stringContaining("the call has done its work, but not every client has confirmed"),
    })
    await attacker.close()
  })
})
