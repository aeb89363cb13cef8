import { createDatabase } from "@authwire/test-support/databases/databases.js"
import { startServer } from "@authwire/test-support/processes/server.js"
import { until } from "@authwire/test-support/until.js"
import { afterEach, describe, expect, test } from "@jest/globals"
import { clientOver } from "../client.js"
import { createAuthwireClient } from "../index.js"
import { sharedTransport } from "../pipeline/shared.js"
import { headersOf } from "../transport/options.js"
import { cachedAdapter, cachingTransport } from "./caching.js"
import { sharedCache } from "./shared.js"

const idleCheckMs = 50
/** An address on which no server listens. */
const url = "http://127.0.0.1:1"

let started = new AsyncDisposableStack()
afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

const registry = () =>
  (globalThis as { [key: symbol]: Map<string, unknown> | undefined })[Symbol.for("authwire.session-caches.1")]
const openCaches = () => registry()?.size ?? 0

const shared = (headers: Record<string, string> = {}) =>
  sharedCache({ url, header: headersOf({ url, headers }), options: {} }, idleCheckMs)

/** Starts a service. Returns a function that creates a client with a cache that closes soon when it is idle. */
async function serve() {
  const database = await createDatabase("sqlite")
  started.defer(() => database.drop())
  const server = await startServer({ databaseUrl: database.url })
  started.defer(async () => void (await server.stop()))
  const options = { url: server.grpcUrl }
  return () => {
    const header = headersOf(options)
    const transport = sharedTransport({ ...options, header })
    const cache = sharedCache({ ...options, header, options: {} }, idleCheckMs)
    started.defer(() => {
      cache.leave()
      transport.close()
    })
    const { adapter } = clientOver(cachingTransport(transport, { shared: cache, header }), "", options, header)
    return { adapter: cachedAdapter(adapter, cache, undefined), cache }
  }
}

describe("sharedCache", () => {
  test("a cache that no client has used is not open, whatever the options", () => {
    const before = openCaches()
    const clients = Array.from({ length: 100 }, (_, n) =>
      createAuthwireClient({ url, sessionCache: {}, headers: { "x-tenant": `${n}` } }),
    )
    expect(openCaches()).toBe(before)
    for (const client of clients) client.close()
  })

  test("an idle cache closes, and the next read of any client opens another shared cache", async () => {
    const before = openCaches()
    const [one, other, foreign] = [shared(), shared(), shared({ "x-tenant": "other" })]
    const first = one.use()
    expect(other.use()).toBe(first)
    expect(foreign.use()).not.toBe(first)
    expect(openCaches()).toBe(before + 2)
    await until(() => openCaches() === before)
    const second = other.use()
    expect(second).not.toBe(first)
    expect(one.use()).toBe(second)
    expect(one.opened).toBe(second)
    one.leave()
    expect(other.opened).toBe(second)
    other.leave()
    expect(openCaches()).toBe(before)
    foreign.leave()
  })

  test("a cache that is used stays open", async () => {
    const cache = shared()
    const first = cache.use()
    const end = performance.now() + 10 * idleCheckMs
    while (performance.now() < end) {
      expect(cache.use()).toBe(first)
      await new Promise(setImmediate)
    }
    cache.leave()
  })

  test("a client that leaves an idle cache does not close the cache that others have opened since", async () => {
    const before = openCaches()
    const [one, other] = [shared(), shared()]
    one.use()
    await until(() => openCaches() === before)
    const second = other.use()
    one.leave()
    expect(other.opened).toBe(second)
    expect(other.use()).toBe(second)
    other.leave()
    expect(openCaches()).toBe(before)
  })

  test("a write evicts from the cache that another client has opened since this client's cache closed", async () => {
    const connect = await serve()
    const [one, other] = [connect(), connect()]
    const before = openCaches()
    const { id } = await one.adapter.createUser({ id: "u1", email: "ada@example.com", emailVerified: null })
    const sessionToken = crypto.randomUUID()
    const expires = new Date(Date.now() + 3_600_000)
    await one.adapter.createSession({ sessionToken, userId: id, expires })
    await one.adapter.getSessionAndUser(sessionToken)
    await until(() => openCaches() === before)
    await until(async () => {
      await other.adapter.getSessionAndUser(sessionToken)
      return other.cache.opened?.entries === 1
    })
    const deletion = one.adapter.deleteSession(sessionToken)
    // The entry is evicted before the socket is read, so the service cannot have announced the deletion.
    for (let turn = 0; turn < 5; turn++) await undefined
    expect(other.cache.opened?.entries).toBe(0)
    expect(await deletion).toMatchObject({ sessionToken })
    expect(await other.adapter.getSessionAndUser(sessionToken)).toBeNull()
  })
})
